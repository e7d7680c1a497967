package main

import (
	"fmt"
	"math"
	"strings"
)

// Sizes of a panel of the plot, in pixels, and of the margins around it.
const (
	panelWidth  = 330.0
	panelHeight = 260.0
	left, right = 64.0, 20.0
	top, bottom = 40.0, 48.0
)

// axis is a logarithmic axis from one power of ten to another.
type axis struct{ low, high, length float64 }

// axisOver makes an axis that has all values on it.
func axisOver(length float64, values ...float64) axis {
	a := axis{low: math.Inf(1), high: math.Inf(-1), length: length}
	for _, v := range values {
		a.low, a.high = min(a.low, math.Floor(math.Log10(v))), max(a.high, math.Ceil(math.Log10(v)))
	}
	if a.high == a.low {
		a.high++
	}
	return a
}

// at is where a value stands on the axis, from its beginning.
func (a axis) at(v float64) float64 { return (math.Log10(v) - a.low) / (a.high - a.low) * a.length }

// plot draws growth on logarithmic axes, one panel for each size: a slope of one
// is linear, and is drawn as a dashed line through the first point.
func plot(all []growth) string {
	var b strings.Builder
	width := float64(len(all)) * (left + panelWidth + right)
	height := top + panelHeight + bottom
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="white"/>`+"\n", width, height)
	for i, g := range all {
		if len(g.points) > 0 {
			panel(&b, g, float64(i)*(left+panelWidth+right)+left)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// panel draws one growth with its left edge at x0.
func panel(b *strings.Builder, g growth, x0 float64) {
	var sizes, times []float64
	for _, p := range g.points {
		sizes, times = append(sizes, p.size), append(times, p.nanos)
	}
	xs, ys := axisOver(panelWidth, sizes...), axisOver(panelHeight, times...)
	x := func(v float64) float64 { return x0 + xs.at(v) }
	y := func(v float64) float64 { return top + panelHeight - ys.at(v) }
	for e := xs.low; e <= xs.high; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path d="M%.1f %.1fv%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			x(v), top, panelHeight, x(v), top+panelHeight+18, thousands(v))
	}
	for e := ys.low; e <= ys.high; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path d="M%.1f %.1fh%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			x0, y(v), panelWidth, x0-6, y(v)+4, human(v, "ns/cycle"))
	}
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="#888"/>`+"\n", x0, top, panelWidth, panelHeight)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-size="14">time of a cycle by %s, slope %.2f</text>`+"\n", x0, top-14, g.what, g.slope())
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x0+panelWidth/2, top+panelHeight+38, g.what)
	first := g.points[0]
	// The linear line ends where it leaves the panel, at the top or on the right.
	end := math.Min(math.Pow(10, xs.high), first.size*math.Pow(10, ys.high)/first.nanos)
	fmt.Fprintf(b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#999" stroke-dasharray="5 4" fill="none"/>`+"\n",
		x(first.size), y(first.nanos), x(end), y(first.nanos*end/first.size))
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="#777" text-anchor="end">linear</text>`+"\n", x(end)-8, y(first.nanos*end/first.size)+14)
	var line strings.Builder
	for i, p := range g.points {
		fmt.Fprintf(&line, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], x(p.size), y(p.nanos))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="#1f5fa8"/>`+"\n", x(p.size), y(p.nanos))
	}
	fmt.Fprintf(b, `<path d="%s" stroke="#1f5fa8" stroke-width="2" fill="none"/>`+"\n", line.String())
}
