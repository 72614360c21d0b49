// A folder or files that are dropped on [data-drop] are sent with its form, under their paths.
// Without a script the fields for files do the same.

async function walk(entry, found) {
  if (entry.isFile) {
    found.push([entry.fullPath.slice(1), await new Promise((done, fail) => entry.file(done, fail))]);
    return;
  }
  const reader = entry.createReader();
  for (;;) { // a reader gives a hundred entries at a time, and none after the last
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return;
    for (const one of some) await walk(one, found);
  }
}

function begin(root) {
  for (const zone of root.querySelectorAll("[data-drop]")) {
    let dropped = [];
    zone.hidden = false;
    for (const kind of ["dragover", "dragleave", "drop"]) {
      zone.addEventListener(kind, (event) => {
        event.preventDefault();
        zone.classList.toggle("over", kind === "dragover");
      });
    }
    zone.addEventListener("drop", async ({ dataTransfer }) => {
      const entries = [...dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
      const found = entries.length ? [] : [...dataTransfer.files].map((file) => [file.name, file]);
      for (const entry of entries) await walk(entry, found);
      dropped = found;
      zone.querySelector("output").value = dropped.map(([path]) => path).join(", ");
    });
    zone.closest("form").addEventListener("submit", async (event) => {
      if (!dropped.length) return;
      event.preventDefault();
      const data = new FormData(event.target);
      for (const [path, file] of dropped) data.append("folder", file, path);
      const answer = await fetch(event.target.action, { method: "POST", body: data, headers: { Accept: "text/html" } });
      if (answer.redirected) return location.assign(answer.url);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = document.adoptNode(page.querySelector("main"));
      document.querySelector("main").replaceWith(main);
      begin(main);
      main.focus();
    });
  }
}
begin(document);
