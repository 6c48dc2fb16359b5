// Translations in this browser. The interface is described in cgru_cli/web/page.py.

import { element } from "./element.js";

const waiting = new Map(); // the functions that receive answers, by number of the request
let requests = 0;
let worker = null; // a promise

export async function models() {
  const description = await (await fetch("model.json")).json();
  announce(description.loads);
  return [{ ...description.model, loads: total }];
}

export const translations = (request, signal) => answers("translations", request, signal);

export async function alternatives(request) {
  for await (const found of answers("alternatives", request)) return found;
}

async function* answers(task, request, signal) {
  const number = ++requests;
  const received = [];
  let wake = () => {};
  const receive = (message) => {
    received.push(message);
    wake();
  };
  const stop = () => receive({ stopped: true });
  waiting.set(number, receive);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  worker ??= begun();
  const translating = await worker;
  translating.postMessage({ number, task, request });
  try {
    for (;;) {
      if (!received.length) await new Promise((resolve) => { wake = resolve; });
      const { data, done, error, stopped } = received.shift();
      if (stopped) throw new DOMException("stopped", "AbortError");
      if (error) throw new Error(error);
      if (done) return;
      yield data;
    }
  } finally {
    waiting.delete(number);
    signal?.removeEventListener("abort", stop);
    translating.postMessage({ cancel: number });
  }
}

async function begun() {
  await keptOffline;
  const made = new Worker("worker.js", { type: "module" });
  made.onmessage = ({ data }) => {
    if ("loaded" in data) loaded(data.loaded);
    else if (data.loading) missing = total;
    else waiting.get(data.number)?.(data);
  };
  made.onerror = () => {
    worker = null;
    for (const receive of waiting.values()) receive({ error: "The translator cannot be started." });
  };
  return made;
}

// --- loading -------------------------------------------------------------------------------------

const bar = element("progress", { max: 1, value: 0, hidden: true });
bar.setAttribute("aria-label", "Loading");
const notice = element("span");
let missing = 0; // bytes
let total = 0;

// Shows how much the first translation loads.
function announce(files) {
  missing = total = files.reduce((sum, { size }) => sum + size, 0);
  const size = (total / 1e6).toFixed(0);
  notice.textContent = `Your text stays on this device. The first translation loads ${size} MB, once.`;
  document.querySelector("main").append(element("p", { className: "hint" }, notice, " ", bar));
}

function loaded(bytes) {
  missing -= bytes;
  bar.value = 1 - missing / total;
  bar.hidden = missing <= 0;
  notice.textContent = missing > 0 ? `Loading ${(total / 1e6).toFixed(0)} MB`
    : "Your text stays on this device.";
}

// Resolves once offline.js caches what this page loads, or if the browser has no service workers.
const keptOffline = (async () => {
  try {
    const { installing } = await navigator.serviceWorker.register("offline.js");
    await new Promise((resolve) => {
      if (!installing) return resolve();
      const ended = () => ["activated", "redundant"].includes(installing.state) && resolve();
      installing.addEventListener("statechange", ended);
    });
  } catch {
    // an address without TLS, or a private window: the page works, but only with a connection
  }
})();
