// A pane with the translations of a text by one model. Each has a status and errors of its own.

import { copy, element } from "./text.js";
import * as translator from "./translator.js";

export class Pane {
  // show(pane, line) shows a translated line in line.holder; changed() follows every change of the
  // state: busy, error, done and total.
  constructor(model, title, show, changed) {
    Object.assign(this, { model, show, changed, texts: [], lines: [], holders: [] });
    this.busy = false;
    this.error = "";
    this.text = element("div", { className: "translation" });
    this.text.setAttribute("role", "group");
    this.text.setAttribute("aria-label", title);
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
    this.element = element("section", { className: "pane" },
      element("h2", { textContent: title }), this.failure, this.text,
      element("div", { className: "actions" }, this.status, button));
  }

  get done() {
    return this.lines.filter(Boolean).length;
  }

  get total() {
    return this.texts.length;
  }

  // The whole translation as text.
  whole() {
    return Array.from(this.text.children, (p) => Array.from(p.children, (sentence) =>
      sentence.dataset.text ?? "").join(" ")).join("\n");
  }

  // Translates paragraphs of sentences.
  translate(paragraphs) {
    this.texts = paragraphs.flat();
    this.lines = [];
    this.holders = this.texts.map(() => element("span", { className: "sentence" }));
    let next = 0;
    this.text.replaceChildren(...paragraphs.map((sentences) => {
      const count = sentences.length;
      return element("p", { dir: "auto" }, ...this.holders.slice(next, next += count));
    }));
    return this.complete();
  }

  // Translates the sentences that have no translation.
  async complete() {
    this.control?.abort();
    const { signal } = (this.control = new AbortController());
    const missing = [...this.texts.keys()].filter((index) => !this.lines[index]);
    for (const index of missing) this.holders[index].replaceChildren("… ");
    this.change(true);
    try {
      if (missing.length) await this.receive(missing, signal);
    } catch (error) {
      if (error.name !== "AbortError" && !signal.aborted) this.change(false, error.message);
    }
    if (signal.aborted) return; // others have taken over
    this.change(false, this.error);
  }

  async receive(missing, signal) {
    const request = {
      texts: missing.map((index) => this.texts[index]), model: this.model.name,
      n_best: Math.min(5, this.model.beam_size), alignment: this.model.attention,
      word_scores: true,
    };
    for await (const data of translator.translations(request, signal)) {
      if (signal.aborted) return;
      const index = missing[data.index];
      this.lines[index] = { ...data, input: this.texts[index], holder: this.holders[index] };
      this.lines[index].shown = data.hypotheses[0];
      this.show(this, this.lines[index]);
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
    this.status.textContent = this.done < this.total
      ? `${stopped}${this.done} of ${this.total} sentences` : "";
    if (!busy) {
      this.holders.forEach((holder, index) => this.lines[index] || holder.replaceChildren());
    }
    this.changed();
  }
}
