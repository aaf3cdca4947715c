"use strict";
// The table of labels: sorts by a column, filters by name and frequency, shows a few rows at a time.
(() => {
  const rows = JSON.parse(document.getElementById("labels").textContent);
  const body = document.querySelector("#table tbody");
  const filter = document.getElementById("filter");
  const bucket = document.getElementById("bucket");
  const more = document.getElementById("more");
  const status = document.getElementById("shown");
  const buttons = [...document.querySelectorAll("#table th button")];
  const state = { column: 3, falling: true, limit: 25 };

  const compare = (a, b) => {
    const x = a[state.column], y = b[state.column];
    const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
    return state.falling ? -order : order;
  };

  const draw = () => {
    const part = filter.value.toLowerCase();
    const found = rows.filter((row) => (!bucket.value || row[1] === bucket.value) && row[0].toLowerCase().includes(part));
    found.sort(compare);
    body.replaceChildren(...found.slice(0, state.limit).map((row) => {
      const line = document.createElement("tr");
      line.append(...row.map((value, index) => {
        const cell = document.createElement("td");
        cell.textContent = typeof value === "number" && index >= 4 && index <= 6 ? value.toFixed(3) : value;
        return cell;
      }));
      return line;
    }));
    status.textContent = `${Math.min(found.length, state.limit)} of ${found.length} labels`;
    more.hidden = found.length <= state.limit;
    for (const button of buttons) {
      const own = Number(button.dataset.column) === state.column;
      button.parentElement.setAttribute("aria-sort", own ? (state.falling ? "descending" : "ascending") : "none");
    }
  };

  for (const button of buttons) {
    button.addEventListener("click", () => {
      const column = Number(button.dataset.column);
      state.falling = column === state.column ? !state.falling : column > 1;
      state.column = column;
      draw();
    });
  }
  filter.addEventListener("input", draw);
  bucket.addEventListener("change", draw);
  more.addEventListener("click", () => { state.limit += 100; draw(); });
  draw();
})();
