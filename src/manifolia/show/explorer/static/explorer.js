document.getElementById("app").textContent = JSON.parse(document.getElementById("meta").textContent).title;
