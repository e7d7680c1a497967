package relations

import "math"

// tally counts by value, and knows the least and the best count without looking at
// all of them each time.
type tally struct {
	n           map[string]int
	least, best extreme
}

// extreme is a count that none is beyond, and how many values have it.
type extreme struct{ n, values int }

// newTally looks at counts, which may be those of somebody else.
func newTally(n map[string]int) tally {
	t := tally{n: n}
	t.recount()
	return t
}

func (t *tally) recount() {
	t.least, t.best = extreme{n: math.MaxInt32}, extreme{n: math.MinInt32}
	//muster:anyorder extremes and how often they occur
	for _, n := range t.n {
		t.enter(n)
	}
}

// open makes a value known; it counts 0 so far.
func (t *tally) open(v string) {
	if _, ok := t.n[v]; !ok {
		t.n[v] = 0
		t.enter(0)
	}
}

// add counts by more of a value, which may be less than none.
func (t *tally) add(v string, by int) {
	t.open(v)
	old := t.n[v]
	t.n[v] = old + by
	t.changed(old, old+by)
}

// changed tells that a value's count is another now.
func (t *tally) changed(old, now int) {
	if old == now {
		return
	}
	if old == t.least.n {
		t.least.values--
	}
	if old == t.best.n {
		t.best.values--
	}
	t.enter(now)
	if t.least.values == 0 || t.best.values == 0 {
		t.recount()
	}
}

// enter notes a count that a value now has.
func (t *tally) enter(n int) {
	switch {
	case n < t.least.n:
		t.least = extreme{n, 1}
	case n == t.least.n:
		t.least.values++
	}
	switch {
	case n > t.best.n:
		t.best = extreme{n, 1}
	case n == t.best.n:
		t.best.values++
	}
}
