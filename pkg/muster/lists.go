package muster

import clientfeatures "k8s.io/client-go/features"

// lists are client-go's switches, but that informers fill by a list and not by a
// watch that sends each object by itself: with thousands of pods they are full in
// well under half of the time, and until then nothing can be placed.
type lists struct{ clientfeatures.Gates }

// Enabled implements [clientfeatures.Gates].
func (l lists) Enabled(f clientfeatures.Feature) bool {
	return f != clientfeatures.WatchListClient && l.Gates.Enabled(f)
}
