// Shows translations as they become ready, attention, other translations and other words.

import { arrows, drawLinks, drawMap } from "./attention.js";
import { copy, element, pieces, sentencesOf } from "./text.js";
import * as translator from "./translator.js";

const $ = (id) => document.getElementById(id);
const OTHERS = 5; // number of translations of a sentence, and of words at a place
let models = [];
let chosen = null; // {model, line, hypothesis, holder, output}
let drawn = null; // highlights words in the attention on display
let running = null; // stops the running translation

const tell = (text, wrong = false) => {
  $("status").textContent = text;
  $("status").classList.toggle("wrong", wrong);
};

const spotlight = {
  look(side, index) {
    drawn?.(side, index);
    for (const word of chosen?.holder.querySelectorAll(".word") ?? []) {
      const rows = word.dataset.words.split(" ").map(Number);
      const weights = rows.map((t) => (side === "target" ? +(t === index)
        : side === "source" ? chosen.hypothesis.alignment?.[t]?.[index] ?? 0 : 0));
      const weight = Math.max(...weights);
      word.classList.toggle("lit", weight >= 0.02);
      word.style.setProperty("--weight", weight);
    }
  },
};

// --- translating ---------------------------------------------------------------------------------

async function translate() {
  running?.abort();
  const mine = (running = new AbortController());
  const text = $("source").value;
  $("sentence").hidden = true;
  chosen = null;
  const outputs = models.filter((model) => model.box.checked).map(output);
  $("outputs").replaceChildren(...outputs.map((one) => one.pane));
  const paragraphs = sentencesOf(text, $("by-line").checked);
  const count = paragraphs.flat().length * outputs.length;
  if (!count) return tell("");
  let done = 0;
  tell(`0 of ${count} sentences`);
  const ready = () => tell(++done < count ? `${done} of ${count} sentences` : "Ready");
  try {
    await Promise.all(outputs.map((one) => fill(one, paragraphs, mine.signal, ready)));
    const first = outputs[0]?.lines.find((line) => line?.hypotheses.length);
    if (first && !chosen) choose(outputs[0], first);
  } catch (error) {
    if (error.name !== "AbortError") tell(error.message, true);
  }
}

// A pane for the translations of a model.
function output(model) {
  const id = `output-${models.indexOf(model)}`;
  const title = models.length > 1 ? `Translation by ${model.name}` : "Translation";
  const text = element("div", { className: "translation" });
  text.setAttribute("role", "group");
  text.setAttribute("aria-labelledby", id);
  const button = element("button", { type: "button", className: "quiet", textContent: "Copy" });
  const pane = element("section", { className: "pane" },
    element("h2", { id, textContent: title }), text,
    element("div", { className: "actions" }, element("span"), button));
  const made = { model, pane, text, lines: [] };
  button.onclick = async () => {
    const whole = Array.from(text.children, (p) =>
      Array.from(p.children, (sentence) => sentence.dataset.text ?? "").join(" "));
    await copy(whole.join("\n"));
    tell("Copied");
  };
  return made;
}

async function fill(to, paragraphs, signal, ready) {
  const texts = paragraphs.flat();
  const holders = [];
  to.text.replaceChildren(...paragraphs.map((sentences) => {
    const paragraph = element("p", { dir: "auto" });
    for (const sentence of sentences) {
      const holder = element("span", { className: "sentence waiting", textContent: "… " });
      holders.push(holder);
      paragraph.append(holder);
    }
    return paragraph;
  }));
  const body = {
    texts, model: to.model.name, n_best: Math.min(OTHERS, to.model.beam_size),
    alignment: to.model.attention, word_scores: true,
  };
  for await (const data of translator.translations(body, signal)) {
    const line = { ...data, input: texts[data.index], holder: holders[data.index] };
    to.lines[data.index] = line;
    show(to, line, line.hypotheses[0]);
    ready();
  }
}

// Shows a translation of a sentence in its place.
function show(to, line, hypothesis) {
  const holder = line.holder;
  line.shown = hypothesis;
  holder.classList.remove("waiting");
  holder.dataset.text = hypothesis?.text ?? "";
  if (!hypothesis) return holder.replaceChildren("");
  const parts = pieces(hypothesis.text, hypothesis.words).map(({ text, words }) => {
    if (!words.length) return text;
    const word = element("button", { type: "button", className: "word", textContent: text });
    word.dataset.words = words.join(" ");
    const scores = words.map((w) => hypothesis.word_scores?.[w] ?? 0);
    const probability = Math.exp(scores.reduce((sum, score) => sum + score, 0));
    word.title = `${Math.round(100 * probability)} % sure; click for other words`;
    if (probability < 0.6) word.classList.add(probability < 0.25 ? "lost" : "unsure");
    const look = () => {
      choose(to, line);
      spotlight.look("target", words[0]);
    };
    word.addEventListener("pointerenter", look);
    word.addEventListener("focus", look);
    word.addEventListener("pointerleave", () => spotlight.look(null));
    word.addEventListener("blur", () => spotlight.look(null));
    word.onclick = () => alternatives(to, line, word, words[0]);
    return word;
  });
  holder.replaceChildren(...parts, " ");
  arrows(to.text);
}

// --- one sentence --------------------------------------------------------------------------------

function choose(to, line) {
  if (chosen?.line === line && chosen.hypothesis === line.shown) return;
  chosen?.holder.classList.remove("chosen");
  line.holder.classList.add("chosen");
  chosen = { to, line, hypothesis: line.shown, holder: line.holder };
  $("sentence").hidden = false;
  drawAttention();
  drawOthers();
}

function drawAttention() {
  const holder = $("attention");
  if (!chosen) return;
  if (!chosen.hypothesis.alignment?.length) {
    drawn = null;
    return holder.replaceChildren(element("p", {
      className: "hint", textContent: "There is no attention to show.",
    }));
  }
  const asMap = $("as-map").getAttribute("aria-pressed") === "true";
  drawn = (asMap ? drawMap : drawLinks)(holder, chosen, spotlight);
}

function drawOthers() {
  const { to, line, hypothesis } = chosen;
  const list = element("ol");
  for (const one of line.hypotheses) {
    const score = element("span", { className: "score", textContent: one.total.toFixed(2) });
    const button = element("button", { type: "button" }, score,
      element("span", { dir: "auto", textContent: one.text }));
    button.setAttribute("aria-current", String(one === hypothesis));
    button.onclick = () => {
      show(to, line, one);
      choose(to, line);
      $("others").querySelector('[aria-current="true"]')?.focus();
    };
    list.append(element("li", {}, button));
  }
  const title = element("h2", { textContent: "Other translations, by their score" });
  $("others").replaceChildren(...(line.hypotheses.length > 1 ? [title, list] : []));
}

// The model's best words at a place, each with the resulting translation.
async function alternatives(to, line, word, place) {
  const popover = $("choices");
  const box = word.getBoundingClientRect();
  const width = Math.min(30 * 17, 0.92 * innerWidth);
  popover.style.left = `${Math.max(8, Math.min(box.left, innerWidth - width - 8)) + scrollX}px`;
  popover.style.top = `${box.bottom + 6 + scrollY}px`;
  $("choices-list").replaceChildren(element("li", { className: "hint", textContent: "…" }));
  popover.showPopover();
  popover.ontoggle = (event) => {
    if (event.newState === "closed" && word.isConnected) word.focus();
  };
  try {
    const { alternatives: found } = await translator.alternatives({
      text: line.input, prefix: line.shown.words.slice(0, place), count: OTHERS,
      model: to.model.name, alignment: to.model.attention, word_scores: true,
    });
    $("choices-list").replaceChildren(...found.map((one) => {
      const parts = pieces(one.text, one.words);
      const at = parts.findIndex(({ words }) => words.includes(place));
      const rest = parts.slice(at + 1).map(({ text }) => text).join("").trim();
      const button = element("button", { type: "button" },
        element("span", { className: "share", textContent: `${Math.round(100 * one.probability)} %` }),
        element("strong", { dir: "auto", textContent: one.word === null ? "(end)" : parts[at]?.text ?? one.word }),
        element("span", { className: "rest", dir: "auto", textContent: at < 0 ? "" : rest }));
      button.style.setProperty("--share", `${100 * one.probability}%`);
      button.onclick = () => {
        if (!line.hypotheses.some(({ text }) => text === one.text)) line.hypotheses.push(one);
        show(to, line, one);
        choose(to, line);
        popover.hidePopover();
        line.holder.querySelector(".word")?.focus();
      };
      return element("li", {}, button);
    }));
    $("choices-list").querySelector("button")?.focus();
  } catch (error) {
    popover.hidePopover();
    tell(error.message, true);
  }
}

// --- the page ------------------------------------------------------------------------------------

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String(dark));
}

function pressed(button, other) {
  button.setAttribute("aria-pressed", "true");
  other.setAttribute("aria-pressed", "false");
  drawAttention();
}

function fragment() {
  const names = models.filter((model) => model.box.checked).map((model) => model.name);
  const asked = new URLSearchParams({ text: $("source").value });
  if (models.length > 1) asked.set("models", names.join(","));
  if ($("by-line").checked) asked.set("lines", "1");
  return asked;
}

async function begin() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = localStorage.getItem("theme");
  setTheme(kept ? kept === "dark" : system.matches);
  system.addEventListener("change", () => {
    if (!localStorage.getItem("theme")) setTheme(system.matches);
  });
  $("theme").onclick = () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    localStorage.setItem("theme", dark ? "dark" : "light");
    setTheme(dark);
  };
  $("translate").onclick = translate;
  $("source").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      translate();
    }
  };
  $("confidence").onchange = () => {
    $("outputs").classList.toggle("confident", $("confidence").checked);
  };
  $("as-links").onclick = () => pressed($("as-links"), $("as-map"));
  $("as-map").onclick = () => pressed($("as-map"), $("as-links"));
  $("link").onclick = async () => {
    history.replaceState(null, "", `#${fragment()}`);
    await copy(location.href);
    tell("The link is copied");
  };
  models = await translator.models(tell);
  tell("");
  const asked = new URLSearchParams(location.hash.slice(1));
  const names = asked.get("models")?.split(",");
  models.forEach((model, index) => {
    model.box = element("input", { type: "checkbox" });
    model.box.checked = names ? names.includes(model.name) : index === 0;
    model.box.onchange = () => $("source").value.trim() && translate();
    const label = element("label", {}, model.box, model.name);
    if (models.length > 1) $("models").append(label);
  });
  $("models").hidden = models.length < 2;
  $("by-line").checked = asked.has("text") ? asked.has("lines") : !models[0].raw_text;
  $("outputs").replaceChildren(...models.filter((model) => model.box.checked)
    .map((model) => output(model).pane));
  if (asked.has("text")) {
    $("source").value = asked.get("text");
    translate();
  } else {
    $("source").focus();
  }
}

begin().catch((error) => tell(error.message, true));
