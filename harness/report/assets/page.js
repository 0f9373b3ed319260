"use strict";

(() => {
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const figure = find("timeline");

  /** The drawing, its buttons, and the choice of the scene that it shows. */
  const startTimeline = (drawing) => {
    figure.hidden = false;
    find("undrawn").hidden = true;
    const elements = { canvas: find("lanes"), map: find("map"), tip: find("tip"), spoken: find("spoken") };
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
    find("everyone-label").hidden = drawing.lanes.length <= FEW || !drawing.scenes.length;
    find("everyone").onchange = (event) => {
      swimlane.everyone = event.target.checked;
      swimlane.draw();
    };
    const resource = find("resource");
    resource.append(new Option("All resources", "-1"), ...drawing.resources.map((name, i) => new Option(`Only ${name}`, String(i))));
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

  /** One scene at a time, with the drawing in its place. */
  const startScenes = (drawing, timeline) => {
    const articles = [...document.querySelectorAll(".scene")];
    const select = find("scene");
    const choose = (number) => {
      articles.forEach((article, i) => (article.hidden = i !== number));
      articles[number].querySelector(".slot").append(figure);
      timeline.choose(drawing.scenes[number]);
      if (!select) return;
      select.value = String(number);
      find("previous").disabled = number === 0;
      find("next").disabled = number === articles.length - 1;
    };
    choose(0);
    if (!select) return;
    find("chooser").hidden = false;
    select.onchange = () => choose(Number(select.value));
    find("previous").onclick = () => choose(Number(select.value) - 1);
    find("next").onclick = () => choose(Number(select.value) + 1);
  };

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
    const timeline = startTimeline(data.drawing);
    if (data.drawing.scenes.length) {
      startScenes(data.drawing, timeline);
    } else {
      find("whole").append(figure);
      find("to-scene").hidden = true;
      find("shorten").parentElement.hidden = true;
      timeline.press(true);
    }
    const replot = plotLatency(find("plot"), data.latency, data.drawing);
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
