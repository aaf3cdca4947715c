"use strict";
// Browsers start no worker for a page that was opened as a file. There the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const inner = this.inside.document;
      inner.open();
      inner.write("<!doctype html><html><head></head><body></body></html>");
      inner.close();
      this.inside.postMessage = (data) => setTimeout(() => this.tell(data));
      this.inside.importScripts = (...urls) => urls.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
      this.ready = this.load(url);
    }
    load(url) {
      return new Promise((done) => {
        const script = this.inside.document.createElement("script");
        script.src = url;
        script.onload = done;
        this.inside.document.body.append(script);
      });
    }
    tell(data) {
      const told = new MessageEvent("message", { data });
      this.dispatchEvent(told);
      this.onmessage?.(told);
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
