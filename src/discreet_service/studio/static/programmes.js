// The editor of programmes: numbers beside its lines, those with mistakes marked; and the keys, names
// and values that may stand where the cursor is. Without it, the lists on the page say the same.

const text = document.getElementById("text"), may = document.getElementById("may");
const { keys, values } = JSON.parse(text.dataset.may);
const declared = keys.map((key) => key.split("."));

const gutter = document.createElement("pre");
gutter.className = "gutter";
gutter.ariaHidden = "true";
const frame = document.createElement("div");
frame.className = "lined";
text.replaceWith(frame);
frame.append(gutter, text);

function number() {
  const wrong = new Set(document.getElementById("check").dataset.wrong.split(" "));
  gutter.replaceChildren(...text.value.split("\n").map((_, at) => {
    const line = document.createElement("span");
    line.textContent = `${at + 1}\n`;
    line.classList.toggle("wrong", wrong.has(`${at + 1}`));
    return line;
  }));
  gutter.scrollTop = text.scrollTop;
}

// The declared parts that follow a path; names of tables and figures fit a star.
const after = (path) => [...new Set(declared
  .filter((key) => key.length > path.length && path.every((part, at) => key[at] === "*" || key[at] === part))
  .map((key) => key[path.length]).filter((part) => part !== "*"))];
const parts = (name) => name.split(".").map((part) => part.trim().replace(/^["']|["']$/g, ""));

// What may stand at the cursor: what is typed of it already, what it can be, and what follows it.
function offered() {
  const lines = text.value.slice(0, text.selectionStart).split("\n"), line = lines.pop();
  const head = line.match(/^\s*\[([\w.-]*)$/), key = line.match(/^\s*([\w.-]*)$/);
  const value = line.match(/^\s*([\w.-]+)\s*=.*?("?)([\w-]*)$/);
  if (head) {
    const path = parts(head[1]), typed = path.pop();
    const sections = after(path).filter((part) => keys.some((one) => after([...path, part]).length && one));
    return [typed, sections, path.length || typed !== "tables" ? "" : "."];
  }
  const section = lines.map((one) => one.match(/^\s*\[+([^\]]+)\]/)).filter(Boolean).pop();
  const path = section ? parts(section[1]) : [];
  if (key) {
    const own = parts(key[1]), typed = own.pop();
    return [typed, after([...path, ...own]), " = "];
  }
  if (!value) return ["", [], ""];
  const whole = [...path, ...parts(value[1])];
  const form = Object.keys(values).find((one) => {
    const pattern = one.split(".");
    return pattern.length === whole.length && pattern.every((part, at) => part === "*" || part === whole[at]);
  });
  const quote = value[2] ? "" : '"';
  return [value[3], (values[form] ?? []).map((one) => `${quote}${one}`), '"'];
}

function offer() {
  const [typed, list, end] = offered();
  const fitting = list.filter((one) => one.replace('"', "").startsWith(typed) && one !== typed).slice(0, 30);
  may.hidden = !fitting.length;
  may.replaceChildren(may.firstElementChild, ...fitting.map((one) => {
    const button = document.createElement("button");
    [button.type, button.className, button.textContent] = ["button", "plain", one.replace('"', "")];
    button.addEventListener("click", () => {
      text.focus();
      text.setRangeText(one + end, text.selectionStart - typed.length, text.selectionStart, "end");
      text.dispatchEvent(new Event("input", { bubbles: true }));
    });
    return button;
  }));
}

text.addEventListener("input", () => { number(); offer(); });
for (const kind of ["keyup", "click"]) text.addEventListener(kind, offer);
text.addEventListener("scroll", () => { gutter.scrollTop = text.scrollTop; });
text.addEventListener("keydown", (event) => {
  if (event.key !== " " || !event.ctrlKey) return;
  event.preventDefault();
  may.querySelector("button")?.focus();
});
may.addEventListener("keydown", (event) => { if (event.key === "Escape") text.focus(); });
// What the form of a table changed is in the text that comes with the check.
const known = () => document.querySelector("[name=known]").value;
let before = known();
document.addEventListener("swapped", () => {
  if (text.value === before) text.value = known();
  before = known();
  number();
});
document.addEventListener("click", (event) => {
  const line = event.target.closest("[data-line]")?.dataset.line;
  if (!line) return;
  const lines = text.value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + (line > 1);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  text.scrollTop = (line - 3) * (text.scrollHeight / lines.length);
});
number();
