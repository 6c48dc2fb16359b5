// Translations by the server. Other files with the same functions may take the place of this one:
// see cgru_cli/output/page.py.

export async function models() {
  return (await (await asked("/v1/models")).json()).models;
}

export async function* translations(request, signal) {
  const answer = await asked("/v1/translate", { ...request, stream: true }, signal);
  try {
    for await (const [name, data] of events(answer)) {
      if (name === "error") throw new Error(data.error);
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
async function asked(path, body, signal) {
  const headers = password ? { Authorization: `Bearer ${password}` } : {};
  const options = body
    ? { method: "POST", headers: { ...headers, "Content-Type": "application/json" },
        body: JSON.stringify(body), signal }
    : { headers, signal };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached.");
  }
  if (answer.status === 401) {
    await askForPassword();
    return asked(path, body, signal);
  }
  if (!answer.ok) {
    const failure = await answer.json().catch(() => ({}));
    throw new Error(failure.error ?? `The server answered ${answer.status}.`);
  }
  return answer;
}

let asking = null; // one dialog for all waiting requests

function askForPassword() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("ask-password");
    const form = document.getElementById("password-form");
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    form.onsubmit = (event) => {
      event.preventDefault();
      password = document.getElementById("password").value;
      sessionStorage.setItem("password", password);
      dialog.close();
      asking = null;
      resolve();
    };
    dialog.showModal();
  });
  return asking;
}
