// Browsers start no worker from the file system. A page that was opened there runs the
// script of its search in a hidden frame of its own instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.receive(data);
      this.ready = this.load(script);
      inner.importScripts = (...scripts) => Promise.all(scripts.map((each) => this.load(each)));
    }

    load(script) {
      return new Promise((resolve, reject) => {
        const element = this.frame.contentDocument.createElement("script");
        // What the script imports lies beside it, and is run in the order of its list.
        element.src = new URL(script, this.base ?? document.baseURI);
        this.base ??= element.src;
        element.async = false;
        element.onload = resolve;
        element.onerror = reject;
        this.frame.contentDocument.head.append(element);
      });
    }

    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      this.ready.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
