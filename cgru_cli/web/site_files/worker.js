// Translates in a worker, so that the page stays responsive.
//
// Messages to it: {number, task, request}, {cancel: number}. From it: {number, data} for each result,
// {number, done} or {number, error}; {file, loaded: bytes} while a file loads.

import * as runtime from "./ort.wasm.bundle.min.mjs";
import { Preparation, Vocabulary } from "./pieces.js";
import { Model, search } from "./search.js";

const TASKS = { translations, alternatives };
const cancelled = new Set();
const loads = new Map(); // promises: of the list of models, of each library, of the Site of each model
let turn = Promise.resolve(); // requests are answered one after the other

onmessage = ({ data: { number, task, request, cancel } }) => {
  if (cancel) cancelled.add(cancel);
  else turn = turn.then(() => answer(number, task, request));
};

async function answer(number, task, request) {
  try {
    for await (const data of TASKS[task](await siteOf(request.model), request)) {
      postMessage({ number, data });
      await messagesRead();
      if (cancelled.delete(number)) return;
    }
    postMessage({ number, done: true });
  } catch (error) {
    postMessage({ number, error: error.message });
  }
}

// Lets this worker read messages: ONNX Runtime computes without a pause.
function messagesRead() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(null);
  });
}

// --- the tasks, like /v1/translate and /v1/alternatives ------------------------------------------

async function* translations(site, request) {
  for (const [index, text] of request.texts.entries()) {
    const { words, ids } = site.read(text);
    const settings = site.searchOf(ids);
    const count = request.n_best ?? 1;
    const wider = { beam: Math.max(settings.beam, count), first: count === 1 };
    const found = words.length ? await search(site.model, ids, { ...settings, ...wider }) : [];
    const hypotheses = found.slice(0, count).map((one) => site.hypothesis(one, request));
    yield { index, text: hypotheses[0]?.text ?? "", source: [...words, "</s>"], hypotheses };
  }
}

async function* alternatives(site, request) {
  const { ids } = site.read(request.text);
  const prefix = site.target.encode(request.prefix);
  const settings = site.searchOf(ids);
  const nextWord = { beam: request.count, normalize: 0, penalty: 0, limit: prefix.length + 1 };
  const found = [];
  for (const next of await search(site.model, ids, { ...settings, ...nextWord }, prefix)) {
    const word = next.words.at(-1);
    const ends = word === settings.end;
    const wholes = ends ? [next]
      : await search(site.model, ids, { ...settings, first: true }, next.words);
    found.push(...wholes.slice(0, 1).map((whole) => ({
      ...site.hypothesis(whole, request),
      word: ends ? null : site.target.words[word],
      probability: Math.exp(next.scores.at(-1)),
    })));
  }
  yield { alternatives: found };
}

// --- the model -----------------------------------------------------------------------------------

class Site {
  constructor(description, session) {
    const [source, target] = description.vocabularies.map((one) => one && new Vocabulary(one));
    this.source = source;
    this.target = target ?? source;
    this.preparation = description.preparation && new Preparation(description.preparation);
    this.search = description.search;
    this.model = new Model(runtime, session);
  }

  // The words of a line of text, and their ids with that of the end.
  read(text) {
    const words = this.source.tokens(this.preparation?.apply(text) ?? text)
      .slice(0, this.search.longest);
    return { words, ids: [...this.source.encode(words), this.source.end] };
  }

  // The settings of the search for a source of these ids.
  searchOf(ids) {
    const { limits, ...others } = this.search;
    return { ...others, limit: limits[ids.length - 1], end: this.target.end };
  }

  hypothesis({ words: ids, finished, score, total, scores, alignment }, request) {
    const words = this.target.decode(ids);
    const line = this.target.line(words);
    const made = { text: this.preparation?.undo(line) ?? line, words, finished, score, total };
    if (request.word_scores) made.word_scores = scores;
    if (request.alignment && alignment) made.alignment = alignment.map((row) => [...row]);
    return made;
  }
}

// The Site of a model, by default of the first.
async function siteOf(name) {
  const models = await once("models", async () => (await fetched("models.json")).json());
  const { loads: files } = models.find((model) => model.name === name) ?? models[0];
  const [library, model, description] = files.map(({ file }) => file);
  return once(model, async () => {
    const [wasmBinary, graph, described] = await Promise.all([
      once(library, () => bytes(library)), bytes(model), bytes(description),
    ]);
    // more threads need headers that a plain web server does not send
    Object.assign(runtime.env.wasm, { wasmBinary, numThreads: 1 });
    const options = { executionProviders: ["wasm"], logSeverityLevel: 3 };
    const session = await runtime.InferenceSession.create(graph, options);
    return new Site(JSON.parse(new TextDecoder().decode(described)), session);
  });
}

// What load() resolves to; it is called once, and again after a failure.
function once(name, load) {
  if (!loads.has(name)) {
    loads.set(name, load().catch((error) => {
      loads.delete(name); // the next request tries again
      throw error;
    }));
  }
  return loads.get(name);
}

async function fetched(file) {
  const answer = await fetch(encodeURIComponent(file)).catch(() => null);
  if (!answer?.ok) throw new Error(`${file} cannot be loaded. Are you offline?`);
  return answer;
}

async function bytes(file) {
  const parts = [];
  let loaded = 0;
  const reader = (await fetched(file)).body.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    parts.push(value);
    loaded += value.length;
    postMessage({ file, loaded });
  }
}
