// The script of the studio. Everything works without it; with it, pages answer faster.
//
// data-swap="#id" on a link or form: its answer replaces that part of the page only.
// data-live="#id" on a form or a field of it: whenever something in it changes, that part is fetched
// anew; data-wait says after how many milliseconds without a change.
// data-events="address" on a part: it is fetched anew when the server says that something happened.
// data-copy="#id" on a button: copies that text. data-filter="#id" on a field: hides what lacks it.
// data-barred on a list: the boxes that it names are greyed, with its reasons.
// data-check="all|none" on a button: checks the boxes of its group. data-move: see `move`.

const WAIT = 300;
const body = document.body;
const say = (text) => { document.getElementById("live").textContent = text; };

// Fetch a page and put its part where the old one is; the focus stays where it was.
const running = new Map();
async function swap(target, address, options = {}) {
  const old = document.querySelector(target);
  if (!old) return false;
  running.get(target)?.abort();
  const control = new AbortController();
  running.set(target, control);
  old.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, {
      ...options, signal: control.signal, headers: { Accept: "text/html", "X-Fragment": target.slice(1) },
    });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = found.querySelector(target);
    if (!part) throw new Error(answer.status);
    const kept = old.contains(document.activeElement) ? document.activeElement : null;
    const place = kept && (kept.id ? `#${CSS.escape(kept.id)}` : kept.dataset.focus && `[data-focus="${CSS.escape(kept.dataset.focus)}"]`);
    old.replaceWith(document.adoptNode(part));
    if (kept) (place && document.querySelector(place) || focusable(part)).focus();
    begin(part);
    say(part.dataset.say || body.dataset.shown);
    part.dispatchEvent(new CustomEvent("swapped", { bubbles: true }));
    return answer;
  } catch (error) {
    if (error.name !== "AbortError") say(body.dataset.failed);
    return false;
  } finally {
    if (running.get(target) === control) {
      running.delete(target);
      document.querySelector(target)?.removeAttribute("aria-busy");
    }
  }
}

function focusable(part) {
  if (!part.hasAttribute("tabindex")) part.tabIndex = -1;
  return part;
}

const fields = (form, submitter) => {
  const data = new FormData(form);
  if (submitter?.name) data.append(submitter.name, submitter.value);
  return new URLSearchParams([...data].filter(([, value]) => typeof value === "string" && value !== ""));
};

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    swap(link.dataset.swap, link.href).then((done) => {
      if (!done) location.assign(link.href);
      else if (link.dataset.address !== "keep") push(link.href);
    });
  }
  const button = event.target.closest("button[data-copy], button[data-check]");
  if (button?.dataset.copy) copy(button);
  if (button?.dataset.check) {
    for (const box of button.closest("fieldset, details").querySelectorAll("input[type=checkbox]")) {
      if (!box.closest("[hidden]")) box.checked = button.dataset.check === "all";
    }
    button.form?.dispatchEvent(new Event("change", { bubbles: true }));
  }
});

// Going back shows what was there; a leap within the page, such as to its content, changes nothing.
const here = () => location.pathname + location.search;
let shown = here();
function push(address) {
  history.pushState({}, "", address);
  shown = here();
}
addEventListener("popstate", () => { if (here() !== shown) location.reload(); });

async function copy(button) {
  await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
  say(body.dataset.copied);
}

document.addEventListener("submit", (event) => {
  const form = event.target, target = event.submitter?.dataset.swap || form.dataset.swap;
  if (!target || event.submitter?.dataset.swap === "") return;
  event.preventDefault();
  const data = fields(form, event.submitter), address = event.submitter?.getAttribute("formaction") || form.action;
  const get = form.method === "get";
  const sent = get ? swap(target, `${address}?${data}`) : swap(target, address, { method: "POST", body: data });
  sent.then((answer) => {
    if (get && answer && form.dataset.address !== "keep") push(`${address}?${data}`);
  });
});

// What changes in a form is asked for once nothing has changed for a while.
let timer;
function live(event) {
  const form = event.target.form ?? event.target.closest?.("form");
  if (event.target.dataset?.filter) return filter(event.target);
  if (event.target.type === "range") slid(event.target);
  const target = event.target.dataset?.live || form?.dataset.live;
  if (!target) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (!form.isConnected) return; // another one is in its place, with what was typed
    const data = fields(form), address = form.dataset.liveAddress || form.action;
    if (form.method === "get") swap(target, `${address}?${data}`);
    else swap(target, address, { method: "POST", body: data });
  }, form.dataset.wait ?? WAIT);
}
document.addEventListener("input", live);
document.addEventListener("change", live);
// The key that sends a form looks up, in a field with a part of its own.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches("input[data-live]")) return;
  event.preventDefault();
  live(event);
});

// A slider tells its value in [data-value-of="its id"], and empties the field that goes before it.
function slid(slider) {
  const told = document.querySelector(`[data-value-of="${CSS.escape(slider.id)}"]`);
  if (told) told.textContent = Number(slider.value).toLocaleString(document.documentElement.lang);
  if (slider.dataset.empties) document.querySelector(slider.dataset.empties).value = "";
}

// Hide the entries of a list that lack what was typed.
function filter(field) {
  const wanted = field.value.trim().toLocaleLowerCase();
  let shown = 0;
  for (const entry of document.querySelectorAll(`${field.dataset.filter} > li`)) {
    entry.hidden = !entry.textContent.toLocaleLowerCase().includes(wanted);
    shown += !entry.hidden;
  }
  say(`${shown}`);
}

// Grey what cannot be added to a table, with the reason; what is chosen can always be taken back.
function bar(list) {
  const reasons = new Map([...list.children].map((entry) => [entry.dataset.value, entry.textContent]));
  for (const line of document.querySelectorAll("[data-reason]")) line.hidden = true;
  for (const box of document.querySelectorAll("input[name=by]")) {
    const reason = box.checked ? undefined : reasons.get(box.value);
    box.disabled = reason !== undefined;
    const line = reason && document.querySelector(`[data-reason="${CSS.escape(box.value.split(":")[0])}"]`);
    if (line?.hidden) [line.hidden, line.textContent] = [false, reason];
  }
}

// Move an entry: drag [data-move="address"] onto [data-onto="value"]; the buttons inside do the same.
document.addEventListener("dragstart", (event) => {
  const entry = event.target.closest?.("[data-move]");
  if (entry) event.dataTransfer.setData("text/x-move", entry.dataset.move);
});
document.addEventListener("dragover", (event) => {
  if (event.target.closest("[data-onto]")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const onto = event.target.closest("[data-onto]"), moved = event.dataTransfer.getData("text/x-move");
  if (!onto || !moved) return;
  event.preventDefault();
  document.querySelector(`[data-moved="${CSS.escape(`${moved}>${onto.dataset.onto}`)}"]`)?.click();
});

// Server-sent events: the part is fetched anew with each, and no more once it says so itself.
function follow(part) {
  const source = new EventSource(part.dataset.events), target = `#${part.id}`;
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) again(); };
  const again = () => swap(target, location.href).then(() => {
    if (!document.querySelector(target)?.dataset.events) source.close();
  });
  for (const kind of (part.dataset.eventKinds || "message").split(" ")) source.addEventListener(kind, again);
}

const followed = new Set();
function begin(root) {
  for (const part of [root, ...root.querySelectorAll("[data-events]")]) {
    if (!part.dataset.events || followed.has(part.dataset.events)) continue;
    followed.add(part.dataset.events);
    follow(part);
  }
  for (const each of root.querySelectorAll(".scripted")) each.hidden = false;
  for (const each of root.querySelectorAll(".unscripted")) each.hidden = true;
  for (const each of root.querySelectorAll("[data-move]")) each.draggable = true;
  for (const each of root.querySelectorAll("[data-barred]")) bar(each);
}
begin(body);
