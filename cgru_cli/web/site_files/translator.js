// Translations in this browser. The interface is described in cgru_cli/web/page.py.

import { element } from "./element.js";
import { languageName } from "./models.js";

const waiting = new Map(); // the functions that receive answers, by number of the request
let requests = 0;
let worker = null; // a promise

export async function models() {
  served = await (await fetch("models.json")).json();
  document.querySelector("main").append(element("p", { className: "hint" }, notice, " ", bar));
  return served.map((model) => ({ ...model, loads: bytesOf(model.loads) }));
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
    if (data.file) {
      loaded.set(data.file, data.loaded);
      showLoading();
    } else waiting.get(data.number)?.(data);
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
const loaded = new Map(); // bytes, by file
const bytesOf = (files) => files.reduce((sum, { size }) => sum + size, 0);
const isMissing = ({ file, size }) => (loaded.get(file) ?? 0) < size;
let served = [];
let named = ""; // the chosen models
let wanted = []; // the files that they lacked when they were chosen
let into = "";

// Shows how much the first translation with these models loads.
export function chosen(models) {
  const names = models.map(({ name }) => name);
  if (names.join() === named) return;
  named = names.join();
  const files = served.filter(({ name }) => names.includes(name)).flatMap(({ loads }) => loads);
  wanted = [...new Map(files.map((one) => [one.file, one])).values()].filter(isMissing);
  const { languages } = models[0];
  into = languages ? ` into ${languageName(languages.target)}` : "";
  showLoading();
}

function showLoading() {
  const total = bytesOf(wanted);
  const done = wanted.reduce((sum, { file }) => sum + (loaded.get(file) ?? 0), 0);
  const size = `${Math.max(1, total / 1e6).toFixed(0)} MB`;
  bar.value = done / total || 0;
  bar.hidden = !done || done >= total;
  notice.textContent = !bar.hidden ? `Loading ${size}` : "Your text stays on this device."
    + (done < total ? ` The first translation${into} loads ${size}, once.` : "");
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
