// Calls of the service. Every failure is a `Failure` with a sentence for the reader.

const WAIT = 15000;

export class Failure extends Error {
  constructor(status, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }

  get gone() { return this.status === 0 || this.status === 503; }
}

export const token = {
  get() { try { return sessionStorage.getItem("zipfel-token"); } catch { return null; } },
  set(value) { try { sessionStorage.setItem("zipfel-token", value); } catch { /* kept for this call only */ } },
};

async function message(answer) {
  try {
    const told = (await answer.json()).error;
    return (told && told.message) || told || answer.statusText;
  } catch { return answer.statusText; }
}

export async function call(path, body, signal) {
  const headers = { accept: "application/json" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  const limits = [AbortSignal.timeout(WAIT), ...(signal ? [signal] : [])];
  let answer;
  try {
    answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.any(limits),
    });
    if (answer.ok) return await answer.json();
  } catch (error) {
    if (signal && signal.aborted) throw error;
    throw new Failure(0, "The service can’t be reached.");
  }
  throw new Failure(answer.status, await message(answer), Number(answer.headers.get("retry-after")));
}
