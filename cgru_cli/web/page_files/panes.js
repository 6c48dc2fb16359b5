// A pane: the translations of a text by one model, with their own status and errors.

import { arrows } from "./attention.js";
import { element } from "./element.js";
import { kindOf } from "./models.js";
import { copy } from "./text.js";
import * as translator from "./translator.js";

const AT_ONCE = 100; // sentences per request, because servers limit the time of a request
const FIRST = 200; // characters of the first request, so that its answer comes soon
const KNOWN = 1000; // maximum number of translated sentences to keep

export class Pane {
  // show(pane, line) shows a translated line in line.holder; changed() is called after every change of
  // the state: busy, error, done and total.
  constructor(model, title, show, changed) {
    Object.assign(this, { model, show, changed, sentences: [], lines: [], holders: [] });
    this.known = new Map(); // lines by their text
    this.busy = this.stale = false; // stale: the text has changed
    this.error = "";
    this.text = element("div", { className: "translation" });
    this.text.setAttribute("role", "group");
    this.text.setAttribute("aria-label", title);
    if (model.languages) this.text.lang = model.languages.target;
    arrows(this.text);
    this.status = element("span", { className: "hint" });
    this.reason = element("span");
    const retry = element("button", { type: "button", className: "main", textContent: "Retry" });
    retry.onclick = () => this.complete();
    this.failure = element("div", { className: "failure", hidden: true }, this.reason, retry);
    this.failure.setAttribute("role", "alert");
    const button = element("button", { type: "button", className: "quiet", textContent: "Copy" });
    button.onclick = async () => {
      await copy(this.whole());
      this.status.textContent = "Copied";
    };
    this.heading = element("h2", { textContent: title });
    this.element = element("section", { className: "pane" }, this.heading,
      element("p", { className: "hint", textContent: kindOf(model).note }), this.failure, this.text,
      element("div", { className: "actions" }, this.status, button));
  }

  get done() {
    return this.lines.filter(Boolean).length;
  }

  get total() {
    return this.sentences.length;
  }

  // The whole translation as text.
  whole() {
    return Array.from(this.text.children, (p) => Array.from(p.children, (sentence) =>
      sentence.dataset.text ?? "").join(" ")).join("\n");
  }

  // Marks the translation as outdated, because the text has changed.
  outdated() {
    this.stale = true;
    this.text.classList.add("stale");
    this.control?.abort();
    this.change(false);
  }

  // Translates paragraphs of sentences {text, start}; reuses the translations of known sentences.
  translate(paragraphs) {
    this.control?.abort();
    this.stale = false;
    this.text.classList.remove("stale");
    const before = this.holders.map(({ dataset }) => dataset.text ?? dataset.before);
    this.sentences = paragraphs.flat();
    const used = new Set();
    this.lines = this.sentences.map(({ text, start }) => {
      const known = this.known.get(text);
      if (!known) return undefined;
      const line = used.has(text) ? { ...known, details: null } : known;
      used.add(text);
      return Object.assign(line, { start });
    });
    this.holders = this.sentences.map((_, index) => {
      const holder = element("span", { className: "sentence stale" }, before[index] ?? "…", " ");
      if (this.lines[index]) this.put(index, holder, this.lines[index]);
      else if (before[index]) holder.dataset.before = before[index];
      return holder;
    });
    let next = 0;
    this.text.replaceChildren(...paragraphs.map((sentences) => {
      const count = sentences.length;
      return element("p", { dir: "auto" }, ...this.holders.slice(next, next += count));
    }));
    return this.complete();
  }

  put(index, holder, line) {
    this.lines[index] = Object.assign(line, { holder });
    this.show(this, line);
  }

  // Translates the sentences that have no translation.
  async complete() {
    this.control?.abort();
    const { signal } = (this.control = new AbortController());
    const missing = [...this.sentences.keys()].filter((index) => !this.lines[index]);
    for (const index of missing) {
      if (!this.holders[index].textContent) this.holders[index].append("… ");
    }
    this.change(true);
    try {
      const size = Math.min(AT_ONCE, this.model.limits?.lines ?? AT_ONCE);
      for (let start = 0, end; start < missing.length; start = end) {
        end = start + Math.min(size, start ? size : this.first(missing));
        await this.receive(missing.slice(start, end), signal);
      }
    } catch (error) {
      if (error.name !== "AbortError" && !signal.aborted) this.change(false, error.message);
    }
    if (signal.aborted) return; // a later call has taken over
    this.change(false, this.error);
  }

  // The number of sentences in the first request.
  first(missing) {
    let characters = 0;
    const last = missing.findIndex((i) => (characters += this.sentences[i].text.length) > FIRST);
    return last < 0 ? missing.length : Math.max(1, last);
  }

  async receive(missing, signal) {
    const texts = missing.map((index) => this.sentences[index].text);
    const request = { texts, model: this.model.name, n_best: 1, word_scores: true };
    for await (const data of translator.translations(request, signal)) {
      if (signal.aborted) return;
      const index = missing[data.index];
      const { text: input, start } = this.sentences[index];
      const line = { input, start, source: data.source, hypotheses: data.hypotheses };
      line.shown = data.hypotheses[0];
      this.known.set(input, line);
      if (this.known.size > KNOWN) this.known.delete(this.known.keys().next().value);
      this.put(index, this.holders[index], line);
      this.change(true);
    }
  }

  stop() {
    this.control?.abort();
    if (this.busy) this.change(false);
  }

  change(busy, error = "") {
    this.busy = busy;
    this.error = error;
    this.failure.hidden = !error;
    this.reason.textContent = error;
    const stopped = !busy && !error && this.done < this.total ? "Stopped: " : "";
    this.status.textContent = this.done < this.total && !this.stale
      ? `${stopped}${this.done} of ${this.total} sentences` : "";
    if (!busy) {
      // Keep the previous translation, in grey, while the user types.
      this.holders.forEach((holder, index) => this.lines[index]
        || (this.stale && holder.dataset.before) || holder.replaceChildren());
    }
    this.changed();
  }
}
