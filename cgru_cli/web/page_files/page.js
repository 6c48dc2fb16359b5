// The page: the text, the models, and the settings.

import { prepareDocuments } from "./documents.js";
import { element } from "./element.js";
import * as kept from "./kept.js";
import { choose, chosen, detected, detecting, showMenus, undecided } from "./languages.js";
import { kindOf, labelsOf, languageName, reverseOf, same } from "./models.js";
import { Pane } from "./panes.js";
import { chooseNothing, keepChosen, lookAt, redraw, show } from "./sentence.js";
import { copyText, watch } from "./source.js";
import { copy, sentencesOf } from "./text.js";
import * as translator from "./translator.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 500; // milliseconds from the last key to the translation
let models = [];
let panes = [];
let loading = false;
let timer = 0;
let read = ""; // the text whose language was detected
let composing = false; // whether an input method is composing a word

const tell = (text, wrong = false) => {
  $("status").textContent = text;
  $("status").classList.toggle("wrong", wrong);
};
const sentences = () => sentencesOf($("source").value, $("by-line").checked);

// --- translating ---------------------------------------------------------------------------------

function translate() {
  clearTimeout(timer);
  if (!models.length) return load();
  copyText();
  count();
  if (detecting() && translator.detected) return detect();
  translateNow();
}

function translateNow() {
  showPanes();
  const paragraphs = sentences();
  for (const pane of panes) pane.translate(paragraphs);
}

// Detects the language of the text, if it is new, and translates.
async function detect() {
  const text = $("source").value.trim();
  try {
    const language = text && text !== read ? await translator.detected(text) : null;
    if (text !== $("source").value.trim()) return; // another call translates
    read = text;
    if (language || !text) detected(language);
  } catch (error) {
    return tell(error.message, true);
  }
  keepText();
  translateNow();
}

function typed() {
  clearTimeout(timer);
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  copyText();
  count();
  keepText();
  panes.forEach((pane) => pane.outdated());
  // A large model is loaded only when the user asks for a translation.
  const isLoaded = panes.some((pane) => pane.total || !pane.model.loads);
  if (!$("source").value.trim()) translate();
  else if ($("typing").checked && !composing && isLoaded) timer = setTimeout(translate, PAUSE);
}

function showPanes() {
  const [first, ...others] = chosen();
  translator.chosen?.([first, ...others]);
  panes = [first, ...others].map((model) => {
    const { output } = kindOf(model);
    model.alone = models.every((one) => one === model || !same(one, model));
    const title = model.alone ? output : `${output} by ${model.name}`;
    model.pane ??= new Pane(model, title, show, report);
    // the menus say the same
    model.pane.heading.classList.toggle("unseen", !others.length && !labelsOf(model) && model.reads_source);
    return model.pane;
  });
  const shown = [...$("outputs").children];
  if (panes.length !== shown.length || panes.some((pane, i) => pane.element !== shown[i])) {
    $("outputs").replaceChildren(...panes.map((pane) => pane.element));
  }
  const source = first.languages?.source;
  $("source-title").textContent = source ? languageName(source) : "Text";
  $("source").lang = source ?? "";
  $("source").placeholder = kindOf(first).placeholder;
  $("swap").hidden = !reverseOf(first, models);
}

// Shows the state of all panes beside the Translate button.
function report() {
  const sum = (field) => panes.reduce((total, pane) => total + pane[field], 0);
  const done = sum("done");
  const total = sum("total");
  const failed = panes.filter((pane) => pane.error);
  const busy = panes.some((pane) => pane.busy);
  $("stop").hidden = !busy;
  if (!total) chooseNothing();
  else if (!busy) keepChosen(panes);
  if (busy && done < total) tell(`${done} of ${total} sentences`);
  else if (failed.length) {
    const several = `${failed.length} of ${panes.length} models failed`;
    tell(panes.length > 1 ? several : failed[0].error, true);
  } else if (panes.some((pane) => pane.stale)) tell($("typing").checked ? "" : "The text has changed.");
  else tell(!total ? "" : done < total ? `Stopped: ${done} of ${total} sentences` : "Ready");
  if (total && !busy && done === total && !panes.some((pane) => pane.stale)) remember();
}

// Shows the number of characters, or the length of a sentence that the server would refuse.
function count() {
  const size = (text) => [...text].length;
  const number = (value) => value.toLocaleString("en");
  const most = Math.min(...chosen().map((model) => model.limits?.characters ?? Infinity));
  const longest = Math.max(0, ...sentences().flat().map(({ text }) => size(text)));
  const total = size($("source").value);
  $("count").textContent = longest > most
    ? `a sentence of ${number(longest)} characters; at most ${number(most)}`
    : `${number(total)} ${total === 1 ? "character" : "characters"}`;
  $("count").classList.toggle("wrong", longest > most);
  $("clear").hidden = !total;
}

// --- models --------------------------------------------------------------------------------------

function choseModels() {
  kept.set("models", names());
  kept.set("detect", detecting());
  read = "";
  changed();
}

// Updates the page after a change of the models, or of how the text is split.
function changed() {
  keepText();
  count();
  showPanes();
  if ($("source").value.trim()) translate();
  else report();
}

function swap() {
  const [pane] = panes;
  if (pane.total && pane.done === pane.total && !pane.stale) $("source").value = pane.whole();
  choose(reverseOf(pane.model, models), panes.length > 1 ? [] : names());
  choseModels();
}

// --- the state: in the address, after a reload, in the history -------------------------------------

const names = () => chosen().map((model) => model.name);
const state = () => ({
  text: $("source").value, models: names(), lines: $("by-line").checked, detect: detecting(),
});
const keepText = () => kept.keepText(state());

function fragment() {
  const asked = new URLSearchParams({ text: $("source").value });
  if (models.length > 1) asked.set("models", names().join(","));
  if ($("by-line").checked) asked.set("lines", "1");
  return asked;
}

// The state that the address asks for; null if none.
function asked() {
  const found = new URLSearchParams(location.hash.slice(1));
  const models = found.get("models")?.split(",");
  return found.has("text") ? { text: found.get("text"), models, lines: found.has("lines") }
    : models ? { models } : null;
}

// Restores the state {text, models, lines, detect}.
function restore({ text = "", models: wanted, lines, detect = false }) {
  const known = (wanted ?? []).filter((name) => models.some((model) => model.name === name));
  const unknown = (wanted ?? []).filter((name) => name && !known.includes(name));
  const model = models.find(({ name }) => name === known[0]) ?? models[0];
  const source = text.trim() ? model.languages?.source : null;
  choose(model, known.length ? known : [model.name], detect, source);
  $("by-line").checked = lines ?? kept.settings.lines ?? (model.raw_text === false);
  $("source").value = text;
  $("missing").textContent = unknown.length ? `The link names ${unknown.join(", ")}; there is no `
    + "such model here." : "";
  copyText();
  changed();
}

function remember() {
  kept.remember({ ...state(), translation: panes[0].whole() });
  drawHistory();
}

function drawHistory() {
  const entries = kept.history();
  $("history").hidden = !entries.length;
  $("history-list").replaceChildren(...entries.map((entry) => {
    const line = (text, className) => element("span", { className, dir: "auto",
      textContent: text.trim().replace(/\s+/g, " ") });
    const button = element("button", { type: "button" }, line(entry.text, "from"),
      line(entry.translation, "to"));
    button.onclick = () => {
      restore(entry);
      scrollTo(0, 0);
      $("source").focus();
    };
    return element("li", {}, button);
  }));
}

// --- the page ------------------------------------------------------------------------------------

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String(dark));
}

function press(id, on) {
  $(id).setAttribute("aria-pressed", String(on));
}

function showConfidence() {
  $("outputs").classList.toggle("confident", $("confidence").checked);
  $("legend").hidden = !$("confidence").checked;
}

// Calls `follow` when a checkbox or a button changes, and stores its state.
function setting(id, name, begins, follow) {
  const control = $(id);
  const isBox = control.type === "checkbox";
  const on = kept.settings[name] ?? begins;
  if (isBox) control.checked = on;
  else press(id, on);
  control[isBox ? "onchange" : "onclick"] = () => {
    const now = isBox ? control.checked : control.getAttribute("aria-pressed") !== "true";
    if (!isBox) press(id, now);
    kept.set(name, now);
    follow(now);
  };
}

function showMap(on) {
  press("as-map", on);
  press("as-links", !on);
}

function prepare() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => {
    if (!("dark" in kept.settings)) setTheme(system.matches);
  });
  setting("theme", "dark", system.matches, setTheme);
  setTheme(kept.settings.dark ?? system.matches);
  setting("confidence", "confidence", false, showConfidence);
  showConfidence();
  setting("typing", "typing", true, () => $("source").value.trim() && typed());
  setting("by-line", "lines", false, changed);
  setting("detailed", "detailed", false, redraw);
  showMap(kept.settings.map ?? false);
  for (const [id, on] of [["as-links", false], ["as-map", true]]) {
    $(id).onclick = () => {
      showMap(on);
      kept.set("map", on);
      redraw();
    };
  }
  $("translate").onclick = translate;
  $("again").onclick = load;
  $("stop").onclick = () => panes.forEach((pane) => pane.stop());
  $("swap").onclick = swap;
  $("clear").onclick = () => {
    $("source").value = "";
    typed();
    $("source").focus();
  };
  $("source").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      translate();
    }
  };
  $("sentence").ontoggle = redraw;
  watch((place, byCaret) => lookAt(panes, place, byCaret));
  $("source").oninput = typed;
  $("source").addEventListener("compositionstart", () => { composing = true; });
  $("source").addEventListener("compositionend", () => {
    composing = false;
    typed();
  });
  $("link").onclick = async () => {
    history.replaceState(null, "", `#${fragment()}`);
    await copy(location.href);
    tell("The link is copied");
  };
  addEventListener("hashchange", () => models.length && asked() && restore(asked()));
  prepareDocuments(() => (undecided() ? undefined : chosen()[0]));
  drawHistory();
}

// Loads the list of models, and restores the state.
async function load() {
  if (loading) return;
  loading = true;
  $("again").hidden = true;
  tell("…");
  try {
    models = await translator.models();
  } catch (error) {
    $("again").hidden = false;
    return tell(error.message, true);
  } finally {
    loading = false;
  }
  showMenus(models, choseModels);
  const wanted = asked() ?? kept.text() ?? { detect: kept.settings.detect ?? true };
  // Keep text that was typed while the page was loading.
  const text = $("source").value || wanted.text;
  restore({ models: kept.settings.models?.filter((name) =>
    models.some((model) => model.name === name)), ...wanted, text });
  if (!text) $("source").focus();
}

prepare();
load();
