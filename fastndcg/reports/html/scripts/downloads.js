  // --- downloads ---------------------------------------------------------------------------------------------------
  const FORMULA = /^\s*[=+\-@＝＋－＠]/; // what spreadsheets take for a formula
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

  function makeCsvCell(text) {
    const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  // One line for each query and metric, with a column for each system.
  function makeValuesCsv() {
    const segment = data.segments ? ["segment"] : [];
    const text = data.texts ? ["text"] : [];
    const lines = [["query", ...text, ...segment, "metric", ...data.systems]];
    data.queries.forEach((name, query) => {
      const own = [name, ...(data.texts ? [data.texts[query]] : []), ...(data.segments ? [data.segments[query]] : [])];
      metrics.forEach((metric, place) => {
        const values = data.systems.map((_, system) => readValue(place, system, query));
        lines.push([...own, metric.name, ...values.map((value) => (Number.isNaN(value) ? "" : formatUnits(place, value)))]);
      });
    });
    return lines.map((line) => `${line.map(makeCsvCell).join(",")}\n`).join("");
  }

  const download = byId("download-values");
  download.hidden = false;
  download.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([makeValuesCsv()], { type: "text/csv" }));
    link.download = "values_per_query.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
