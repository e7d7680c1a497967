// Command muster is the scheduler and the controllers of Muster. It only starts
// pkg/muster, so that a guest can do the same with plugins of its own.
package main

import "github.com/muster-sh/muster/pkg/muster"

func main() { muster.Main() }
