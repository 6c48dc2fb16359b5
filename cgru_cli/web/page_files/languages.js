// The menus: source and target language, and the model if several translate between the two.

import { languageName } from "./models.js";

const $ = (id) => document.getElementById(id);
const ALL = ""; // all models of the languages, side by side
const DETECT = "auto";
let models = [];
let found = null; // the detected source language

const from = (model) => model.languages?.source ?? "";
const to = (model) => model.languages?.target ?? "";
const byName = (a, b) => languageName(a).localeCompare(languageName(b), "en");
const distinct = (values) => [...new Set(values)].sort(byName);

export const detecting = () => $("from").value === DETECT;

// Whether the source language is still to be detected.
export const undecided = () => detecting() && !found;

// The source language; "": not stated.
const source = () => {
  if (!detecting()) return $("from").value;
  return found ?? from(models.find((model) => to(model) === $("to").value));
};

// The models of the two languages.
const between = () => models.filter((one) => from(one) === source() && to(one) === $("to").value);

// The chosen models.
export function chosen() {
  const name = $("model").value;
  return between().filter((model) => name === ALL || model.name === name);
}

// Shows the menus of these models; changed() is called when the user has chosen.
export function showMenus(served, changed) {
  models = served;
  const sources = distinct(models.map(from));
  const options = (codes) => codes.map((code) => new Option(languageName(code), code));
  $("from").replaceChildren(...options(sources));
  $("to").replaceChildren(...options(distinct(models.map(to))));
  if (sources.length > 1 && models[0].detects) $("from").prepend(new Option("", DETECT));
  for (const id of ["from", "to"]) {
    $(id).parentElement.hidden = models.every((model) => !model.languages);
    $(id).onchange = () => {
      if (id === "from") found = null;
      settle(id);
      changed();
    };
  }
  $("model").onchange = changed;
}

// Chooses the languages of a model, and models by their names. detect: whether to detect the source
// language; code: the language detected so far.
export function choose(model, names, detect = false, code = null) {
  found = code;
  $("from").value = detect && $("from").querySelector(`[value="${DETECT}"]`) ? DETECT : from(model);
  $("to").value = to(model);
  settle("to", names.length === 1 ? names[0] : ALL);
}

// Translates from this language, which was detected; null: there is no text.
export function detected(code) {
  found = code;
  settle("from");
}

// After a choice in one menu: the other menu shows a language that a model has together with it.
function settle(id, name = $("model").value) {
  if (!between().length) {
    const fits = id === "from" ? (model) => from(model) === source()
      : (model) => to(model) === $("to").value;
    const model = models.find(fits);
    if (id === "from") $("to").value = to(model);
    else if (detecting()) found = from(model);
    else $("from").value = from(model);
  }
  const fitting = between();
  $("model").replaceChildren(...fitting.map((model) => new Option(model.name)));
  if (fitting.length > 1) $("model").append(new Option("All, side by side", ALL));
  $("model").value = name;
  if ($("model").selectedIndex < 0) $("model").selectedIndex = 0;
  $("model").parentElement.hidden = fitting.length < 2;
  const auto = $("from").querySelector(`[value="${DETECT}"]`);
  if (auto) auto.textContent = detecting() && found ? `${languageName(found)} (detected)` : "Detect language";
}
