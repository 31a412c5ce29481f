// A chart of rates over the time that this page has been open, in the colours of the page, and what they are now.
import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

const HEIGHT = 200

/** `series`: [title, name of the colour, dashes]; `data`: times in seconds, then a list for each series. */
export function Chart({ series, data, label }) {
  const place = useRef(null)
  const chart = useRef(undefined)
  const latest = useRef(data)
  latest.current = data
  useEffect(() => {
    const canvas = place.current
    const draw = () => {
      chart.current?.destroy()
      chart.current = new uPlot(options(series, canvas), latest.current, canvas)
    }
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const size = new ResizeObserver(() => chart.current?.setSize({ width: canvas.clientWidth, height: HEIGHT }))
    draw()
    dark.addEventListener('change', draw)
    size.observe(canvas)
    return () => {
      dark.removeEventListener('change', draw)
      size.disconnect()
      chart.current?.destroy()
      chart.current = undefined
    }
  }, [])
  useEffect(() => chart.current?.setData(data), [data])
  return html`<figure class="chart">
    <div ref=${place} role="img" aria-label=${label}></div>
    <figcaption>
      ${series.map(
        ([title, colour, dashes], at) =>
          html`<span key=${title}
            ><svg width="18" height="8" aria-hidden="true">
              <line x1="0" y1="4" x2="18" y2="4" stroke=${`var(--${colour})`} stroke-width="2" stroke-dasharray=${dashes?.join(' ')} /></svg
            >${title} <b>${(data[at + 1].at(-1) ?? 0).toFixed(1)}</b></span
          >`,
      )}
    </figcaption>
  </figure>`
}

function options(series, place) {
  const style = getComputedStyle(place)
  const colour = (name) => style.getPropertyValue(`--${name}`).trim()
  const axis = { stroke: colour('soft'), font: `12px ${style.fontFamily}`, ticks: { show: false } }
  const grid = { stroke: colour('line'), width: 1 }
  return {
    width: place.clientWidth,
    height: HEIGHT,
    cursor: { show: false },
    legend: { show: false },
    scales: { y: { range: (_chart, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 90,
        size: 28,
        values: (_chart, times) => times.map((at) => new Date(at * 1000).toLocaleTimeString()),
      },
      {
        ...axis,
        grid,
        size: 44,
        values: (_chart, rates) => rates.map((rate) => (rate % 1 === 0 ? rate.toLocaleString('en-GB') : rate.toFixed(1))),
      },
    ],
    series: [{}, ...series.map(([label, name, dash]) => ({ label, stroke: colour(name), width: 1.75, dash, points: { show: false } }))],
  }
}
