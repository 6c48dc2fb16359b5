// Translations by the server. Other files with the same functions may replace this one: see
// cgru_cli/web/page.py.

const READ = 2000; // characters in which a language is detected

export async function models() {
  const { models: served, limits, detects } = await (await asked("/v1/models")).json();
  return served.map((model) => ({ ...model, limits, detects }));
}

export async function detected(text) {
  const [{ language }] = await (await asked("/detect", { q: text.slice(0, READ) })).json();
  return language;
}

export async function* translations(request, signal) {
  const stream = request.texts.length > 1;
  const answer = await asked("/v1/translate", { ...request, stream }, signal);
  // One translation, whose attention may be large, is not streamed, so that it is compressed.
  if (!stream) return yield { index: 0, ...(await answer.json()).translations[0] };
  try {
    for await (const [name, data] of events(answer)) {
      if (name === "error") throw new Error(data.detail);
      if (name === "done") return;
      yield data;
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // TypeError: the network
  }
  throw new Error("The connection to the server was lost.");
}

export async function alternatives(request) {
  return (await asked("/v1/alternatives", request)).json();
}

// Yields the progress of a document, {done, sentences}, then {blob}, the translated file.
export async function* translatedDocument(file, model, signal) {
  const query = new URLSearchParams({ name: file.name, model });
  const { address } = await (await asked(`/v1/documents?${query}`, file, signal)).json();
  try {
    for (;;) {
      const answer = await asked(address, null, signal);
      if (answer.status === 200) return yield { blob: await answer.blob() };
      yield await answer.json();
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  } finally { // also after cancellation
    asked(address, null, undefined, "DELETE").catch(() => {});
  }
}

// The server-sent events of an answer, as [name, data].
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [name, data] = block.split("\n");
      yield [name.replace("event: ", ""), JSON.parse(data.replace("data: ", ""))];
    }
  }
}

let password = sessionStorage.getItem("password") ?? "";

// Sends a request; asks the user for a missing password. Throws an Error of one line.
async function asked(path, body, signal, method = body ? "POST" : "GET") {
  const headers = password ? { Authorization: `Bearer ${password}` } : {};
  const options = { method, headers: { ...headers }, signal };
  if (body instanceof Blob) options.body = body;
  else if (body) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached.");
  }
  if (answer.status === 401) {
    if (headers.Authorization === `Bearer ${password}` || !password) await askForPassword();
    return asked(path, body, signal, method);
  }
  if (!answer.ok) {
    const failure = await answer.json().catch(() => ({}));
    throw new Error(failure.detail ?? `The server answered ${answer.status}.`);
  }
  return answer;
}

let asking = null; // one dialog for all waiting requests

// Resolves when the user has given a password, and throws if they do not want to.
function askForPassword() {
  const wrong = password;
  asking ??= new Promise((resolve, reject) => {
    const dialog = document.getElementById("ask-password");
    const field = document.getElementById("password");
    document.getElementById("wrong-password").textContent = wrong ? "This password is wrong." : "";
    document.getElementById("no-password").onclick = () => dialog.close();
    field.value = password = "";
    document.getElementById("password-form").onsubmit = (event) => {
      event.preventDefault();
      password = field.value;
      sessionStorage.setItem("password", password);
      dialog.close();
    };
    dialog.onclose = () => {
      asking = null;
      if (password) resolve();
      else reject(new Error("This server needs a password."));
    };
    dialog.showModal();
  });
  return asking;
}
