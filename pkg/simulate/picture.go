package simulate

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
)

// Sizes of a picture, in pixels.
const (
	wide, low, high   = 760.0, 120.0, 240.0 // of a panel: waiting is the low one
	left, right       = 64.0, 190.0
	above, below, gap = 34.0, 40.0, 44.0
	bandsMost         = 9
)

// colours tell queues apart, also for most who see few colours (Okabe and Ito, and two greys).
func colours() [bandsMost]string {
	return [...]string{"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#555555", "#BBBBBB"}
}

// band is what is drawn of one queue, or of several together.
type band struct {
	name   string
	colour string
	of     []int // queues
}

// scale is what pictures to be compared have in common.
type scale struct {
	from, to      int64
	used, waiting float64
	bands         []band
}

// scaleOf finds the extremes of all results, and which queues are drawn by themselves: those that used most.
func scaleOf(results []*Result) scale {
	first := results[0]
	s := scale{from: first.Usage.Edges[0], bands: bandsOf(results)}
	for _, r := range results {
		u := &r.Usage
		s.from, s.to = min(s.from, u.Edges[0]), max(s.to, u.Edges[len(u.Edges)-1])
		s.used = max(s.used, float64(u.Total)/r.scale())
		for i := range len(u.Edges) - 1 {
			used, waiting := 0.0, 0.0
			for q := range u.Queues {
				used += r.mean(u.Used[q], i)
				waiting += r.mean(u.Wanted[q], i)
			}
			s.used, s.waiting = max(s.used, used), max(s.waiting, waiting)
		}
	}
	return s
}

func bandsOf(results []*Result) []band {
	queues := results[0].Usage.Queues
	used := make([]float64, len(queues))
	order := make([]int, len(queues))
	for q := range queues {
		order[q] = q
		for _, r := range results {
			used[q] += r.Queues[q].Used
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(used[b], used[a]) })
	alone := order
	if len(order) > bandsMost {
		alone = order[:bandsMost-1]
	}
	alone = slices.Sorted(slices.Values(alone))
	var bands []band
	for i, q := range alone {
		bands = append(bands, band{queues[q], colours()[i], []int{q}})
	}
	if rest := order[len(alone):]; len(rest) > 0 {
		bands = append(bands, band{fmt.Sprintf("%d other queues", len(rest)), colours()[bandsMost-1], rest})
	}
	return bands
}

// scale is by how much exact amounts of the resource are divided to be shown.
func (r *Result) scale() float64 {
	if r.Resource == "cpu" {
		return 1000
	}
	return 1
}

// mean is how much of the resource there was in a slice on average.
func (r *Result) mean(series []int64, slice int) float64 {
	return float64(series[slice]) / float64(r.Usage.Edges[slice+1]-r.Usage.Edges[slice]) / r.scale()
}

// picture draws what queues used over time, stacked, and what they waited for below it.
func picture(r *Result, s scale) string {
	var b strings.Builder
	width, height := left+wide+right, above+high+gap+low+below
	unit := short(r.Resource)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s: %ss over time by queue</title>\n", html.EscapeString(r.Name), html.EscapeString(unit))
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="white"/>`+"\n", width, height)
	running := panel{b: &b, r: r, s: s, top: above, height: high, most: s.used, data: r.Usage.Used}
	running.draw(fmt.Sprintf("%s: %ss in use by queue", r.Name, unit))
	running.capacity()
	running.legend()
	pending := panel{b: &b, r: r, s: s, top: above + high + gap, height: low, most: max(s.waiting, 1), data: r.Usage.Wanted}
	pending.draw(unit + "s waited for")
	pending.times()
	b.WriteString("</svg>\n")
	return b.String()
}

// panel is one stack of bands over time.
type panel struct {
	b           *strings.Builder
	r           *Result
	s           scale
	top, height float64
	most        float64
	data        [][]int64
}

func (p *panel) x(ms int64) float64 { return left + float64(ms-p.s.from)/float64(p.s.to-p.s.from)*wide }

func (p *panel) y(n float64) float64 { return p.top + p.height - n/max(p.most, 1)*p.height }

func (p *panel) draw(title string) {
	fmt.Fprintf(p.b, `<text x="%.1f" y="%.1f" font-size="14">%s</text>`+"\n", left, p.top-10, html.EscapeString(title))
	for _, tick := range ticks(p.most, 4) {
		fmt.Fprintf(p.b, `<path d="M%.1f %.1fh%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, p.y(tick), wide, left-6, p.y(tick)+4, tidy(tick))
	}
	many := len(p.r.Usage.Edges) - 1
	floor := make([]float64, many)
	for _, band := range p.s.bands {
		roof := make([]float64, many)
		copy(roof, floor)
		total := 0.0
		for i := range roof {
			for _, q := range band.of {
				roof[i] += p.r.mean(p.data[q], i)
				total += float64(p.data[q][i]) / p.r.scale() / 3_600_000
			}
		}
		fmt.Fprintf(p.b, `<path d="%s" fill="%s"><title>%s: %s %s-hours</title></path>`+"\n",
			p.area(floor, roof), band.colour, html.EscapeString(band.name), tenth(total), html.EscapeString(short(p.r.Resource)))
		floor = roof
	}
	fmt.Fprintf(p.b, `<path d="M%.1f %.1fh%.1f" stroke="#444"/>`+"\n", left, p.top+p.height, wide)
}

// area goes along the roof and back along the floor, in steps.
func (p *panel) area(floor, roof []float64) string {
	var d strings.Builder
	edges := p.r.Usage.Edges
	fmt.Fprintf(&d, "M%s %s", coordinate(p.x(edges[0])), coordinate(p.y(floor[0])))
	for i := range roof {
		fmt.Fprintf(&d, "V%sH%s", coordinate(p.y(roof[i])), coordinate(p.x(edges[i+1])))
	}
	for i, n := range slices.Backward(floor) {
		fmt.Fprintf(&d, "V%sH%s", coordinate(p.y(n)), coordinate(p.x(edges[i])))
	}
	return d.String() + "Z"
}

func coordinate(n float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0")
}

// capacity draws what there is.
func (p *panel) capacity() {
	all := float64(p.r.Usage.Total) / p.r.scale()
	fmt.Fprintf(p.b, `<path d="M%.1f %.1fh%.1f" stroke="#444" stroke-dasharray="6 4"/><text x="%.1f" y="%.1f">all: %s</text>`+"\n",
		left, p.y(all), wide, left+wide+8, p.y(all)+4, tidy(all))
}

func (p *panel) legend() {
	for i, band := range slices.Backward(p.s.bands) { // as they are stacked
		y := p.top + 24 + float64(len(p.s.bands)-1-i)*18
		fmt.Fprintf(p.b, `<rect x="%.1f" y="%.1f" width="12" height="12" fill="%s"/><text x="%.1f" y="%.1f">%s</text>`+"\n",
			left+wide+8, y-10, band.colour, left+wide+26, y, html.EscapeString(shorten(band.name)))
	}
}

// times writes the time axis.
func (p *panel) times() {
	y := p.top + p.height
	step := timeStep(p.s.to - p.s.from)
	for at := (p.s.from + step - 1) / step * step; at <= p.s.to; at += step {
		fmt.Fprintf(p.b, `<path d="M%.1f %.1fv5" stroke="#444"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", p.x(at), y, p.x(at), y+18, axisTime(at))
	}
	fmt.Fprintf(p.b, `<text x="%.1f" y="%.1f" text-anchor="middle">time since the start</text>`+"\n", left+wide/2, y+34)
}

// timeStep is the distance of ticks on an axis of so many milliseconds: at most nine of them.
func timeStep(length int64) int64 {
	const second, minute, hour, day = 1000, 60_000, 3_600_000, 86_400_000
	steps := []int64{
		1, 10, 100, second, 5 * second, 15 * second, minute, 5 * minute, 15 * minute, hour, 2 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 30 * day, 90 * day, 365 * day,
	}
	for _, s := range steps {
		if length/s <= 8 {
			return s
		}
	}
	return max(length/8, 1)
}

// axisTime is a time in the largest unit that it is whole in.
func axisTime(ms int64) string {
	const minute, hour, day = 60_000, 3_600_000, 86_400_000
	switch {
	case ms == 0:
		return "0"
	case ms%day == 0:
		return fmt.Sprintf("%dd", ms/day)
	case ms%hour == 0:
		return fmt.Sprintf("%dh", ms/hour)
	case ms%minute == 0:
		return fmt.Sprintf("%dmin", ms/minute)
	default:
		return plain(seconds(ms)) + "s"
	}
}

// ticks are round numbers up to most, about so many.
func ticks(most float64, about int) []float64 {
	step := 1.0
	for _, next := 0, 0; most/step > float64(about); next++ {
		step *= [...]float64{2, 2.5, 2}[next%3]
	}
	var out []float64
	for n := 0.0; n <= most; n += step {
		out = append(out, n)
	}
	return out
}
