// State that survives a reload: settings in this browser; the text and the history in this tab only.

export const HISTORY = 30; // texts

function read(storage, name) {
  try {
    return JSON.parse(storage().getItem(name));
  } catch {
    return null; // the browser stores nothing for this site
  }
}

function write(storage, name, value) {
  try {
    storage().setItem(name, JSON.stringify(value));
  } catch {
    // the page works without storage
  }
}

const inBrowser = () => localStorage;
const inTab = () => sessionStorage;

export const settings = read(inBrowser, "settings") ?? {};

export function set(name, value) {
  settings[name] = value;
  write(inBrowser, "settings", settings);
}

export const text = () => read(inTab, "text");
export const keepText = (state) => write(inTab, "text", state);

// The history: {text, models, lines, translation}, newest first.
export const history = () => read(inTab, "history") ?? [];

export function remember(entry) {
  // A text that is being typed is one entry.
  const [last, ...others] = history();
  const older = history().filter((one) => one.text !== entry.text);
  const grows = last && (entry.text.startsWith(last.text) || last.text.startsWith(entry.text));
  const rest = grows ? others.filter((one) => one.text !== entry.text) : older;
  write(inTab, "history", [entry, ...rest].slice(0, HISTORY));
}
