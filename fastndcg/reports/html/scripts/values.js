  // --- values: rounded by the writer of the page, so that all digits are those of its tables ------------------------
  const data = JSON.parse(byId("data").textContent);
  const NO_DIFFERENCE = 15;

  function readBytes(text) {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  }

  const metrics = data.metrics.map((metric) => {
    const view = new DataView(readBytes(metric.values).buffer);
    const n = view.byteLength / metric.bytes;
    const packed = Array.from({ length: n }, (_, place) =>
      metric.bytes === 2 ? view.getUint16(2 * place, true) : view.getUint32(4 * place, true),
    );
    return { ...metric, packed, missing: 256 ** metric.bytes - 1, codes: readBytes(metric.differences) };
  });

  // A value in units of the last decimal, NaN if it is undefined.
  function readValue(metric, system, query) {
    const packed = metrics[metric].packed[system * data.queries.length + query];
    return packed === metrics[metric].missing ? NaN : packed + metrics[metric].base;
  }

  // The rounded difference from the baseline in units of the last decimal, and its sign: won 1, tied 0, lost -1.
  function readDifference(metric, system, query) {
    const code = metrics[metric].codes[system * data.queries.length + query];
    if (code === NO_DIFFERENCE) return { difference: NaN, outcome: NaN };
    const rounded = readValue(metric, system, query) - readValue(metric, data.baseline, query);
    return { difference: rounded + (code % 3) - 1, outcome: Math.floor(code / 3) - 1 };
  }

  function formatUnits(metric, units) {
    const { decimals } = metrics[metric];
    return (units / 10 ** decimals).toFixed(decimals);
  }

  function formatValue(metric, units) {
    return Number.isNaN(units) ? "undefined" : formatUnits(metric, units);
  }

  function formatDifference(metric, units) {
    return Number.isNaN(units) ? "n/a" : (units > 0 ? "+" : "") + formatUnits(metric, units);
  }
