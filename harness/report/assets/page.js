"use strict";

(() => {
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const figure = find("timeline");
  const PRINTED = 25; // drawings on paper, at the most

  /** The drawing, its buttons, and the choice of the scene that it shows. */
  const startTimeline = (drawing) => {
    figure.hidden = false;
    find("undrawn").hidden = true;
    const elements = { canvas: find("lanes"), map: find("map"), tip: find("tip"), spoken: find("spoken"), marks: find("marks") };
    const swimlane = new Swimlane(drawing, elements);
    const press = (whole) => {
      find("to-run").setAttribute("aria-pressed", String(whole));
      find("to-scene").setAttribute("aria-pressed", String(!whole));
      if (whole) swimlane.toRun();
      else swimlane.toScene();
    };
    find("to-scene").onclick = () => press(false);
    find("to-run").onclick = () => press(true);
    find("zoom-in").onclick = () => swimlane.zoom(1 / 1.6);
    find("zoom-out").onclick = () => swimlane.zoom(1.6);
    find("shorten").onchange = (event) => {
      swimlane.shorten = event.target.checked;
      press(false);
    };
    find("everyone-label").hidden = !drawing.scenes.length;
    find("everyone").onchange = (event) => {
      swimlane.everyone = event.target.checked;
      swimlane.draw();
    };
    const resource = find("resource");
    const names = drawing.resources.slice(0, 500);
    resource.append(new Option("All resources", "-1"), ...names.map((name, i) => new Option(`Only ${name}`, String(i))));
    resource.parentElement.hidden = drawing.resources.length < 2;
    resource.onchange = () => {
      swimlane.resource = Number(resource.value);
      swimlane.draw();
    };
    return { press, swimlane, choose: (scene) => {
      swimlane.showScene(scene);
      resource.value = String(scene.resource);
      press(false);
    } };
  };

  /** One scene at a time, with the drawing in its place; its steps and the drawing's badges point at each other. */
  const startScenes = (drawing, timeline) => {
    const articles = [...document.querySelectorAll(".scene")];
    const select = find("scene");
    const { swimlane } = timeline;
    let [current, step] = [-1, 0];

    const steps = () => [...articles[current].querySelectorAll(".steps > li")];
    const show = (number) => {
      if (number === current) return;
      [current, step] = [number, 0];
      articles.forEach((article, i) => (article.hidden = i !== number));
      articles[number].querySelector(".slot").append(figure);
      timeline.choose(drawing.scenes[number]);
      if (!select) return;
      select.value = String(number);
      find("previous").disabled = number === 0;
      find("next").disabled = number === articles.length - 1;
    };
    const mark = (lit) => steps().forEach((item, i) => item.classList.toggle("lit", lit.has(i + 1)));
    const remember = () => rememberAddress(`#finding-${current + 1}${step ? `-step-${step}` : ""}`);
    const choose = (number) => {
      if (number < 0 || number >= articles.length) return;
      show(number);
      remember();
    };
    const chooseStep = (number) => {
      if (number < 1 || number > steps().length) return;
      step = number;
      swimlane.reveal(number);
      steps().forEach((item, i) => item.classList.toggle("current", i + 1 === number));
      const item = steps()[number - 1];
      item.scrollIntoView({ block: "nearest" });
      item.querySelector(".n")?.focus({ preventScroll: true });
      remember();
    };
    const follow = () => {
      const [, number, part] = /^#finding-(\d+)(?:-step-(\d+))?$/.exec(location.hash) ?? [];
      if (!number || Number(number) < 1 || Number(number) > articles.length) return false;
      show(Number(number) - 1);
      articles[current].scrollIntoView({ block: "nearest" });
      if (part) chooseStep(Number(part));
      return true;
    };

    articles.forEach((article) => {
      [...article.querySelectorAll(".steps > li")].forEach((item, i) => {
        item.onmouseenter = () => swimlane.light([i + 1]);
        item.onmouseleave = () => swimlane.light(step ? [step] : []);
        item.onclick = (event) => {
          if (getSelection()?.toString()) return; // the user is selecting text
          event.preventDefault();
          chooseStep(i + 1);
        };
        item.querySelector(".n")?.addEventListener("focus", () => swimlane.light([i + 1]));
      });
    });
    swimlane.onLight = mark;
    swimlane.onChoose = chooseStep;
    addEventListener("hashchange", follow);
    addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const actions = {
        n: () => choose(current + 1),
        p: () => choose(current - 1),
        j: () => chooseStep(step + 1),
        k: () => chooseStep(step - 1),
      };
      if (!actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
    if (!follow()) show(0);
    find("hint").hidden = false;
    if (!select) return;
    find("chooser").hidden = false;
    select.onchange = () => choose(Number(select.value));
    find("previous").onclick = () => choose(current - 1);
    find("next").onclick = () => choose(current + 1);
  };

  /** On paper, every finding has its own drawing. */
  const startPrinting = (drawing, swimlane) => {
    const articles = [...document.querySelectorAll(".scene")];
    const tidy = () => {
      document.documentElement.classList.remove("printing");
      for (const picture of document.querySelectorAll(".printed")) picture.remove();
      swimlane.draw();
    };
    addEventListener("beforeprint", () => {
      tidy();
      document.documentElement.classList.add("printing");
      articles.slice(0, PRINTED).forEach((article, i) => {
        const picture = Object.assign(document.createElement("img"), { className: "printed", alt: "" });
        picture.src = swimlane.picture(drawing.scenes[i], 1000);
        article.querySelector(".slot").prepend(picture);
      });
    });
    addEventListener("afterprint", tidy);
  };

  document.documentElement.classList.add("js");

  const startCopying = () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll(".copy")) {
      button.hidden = false;
      button.onclick = async () => {
        await navigator.clipboard.writeText(button.previousElementSibling.textContent);
        button.textContent = "Copied";
        setTimeout(() => (button.textContent = "Copy"), 1500);
      };
    }
  };

  if (data.drawing) {
    const drawing = inMicroseconds(data.drawing);
    const timeline = startTimeline(drawing);
    if (drawing.scenes.length) {
      startScenes(drawing, timeline);
      startPrinting(drawing, timeline.swimlane);
    } else {
      find("whole").append(figure);
      find("to-scene").hidden = true;
      find("shorten").parentElement.hidden = true;
      timeline.press(true);
    }
    new OperationTable(timeline.swimlane);
    const replot = plotLatency(find("plot"), data.latency, drawing);
    replot();
    let width = find("plot").clientWidth;
    new ResizeObserver(() => {
      if (find("plot").clientWidth === width) return;
      width = find("plot").clientWidth;
      replot();
    }).observe(find("plot"));
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", replot);
  }
  startCopying();
})();
