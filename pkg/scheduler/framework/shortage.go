package framework

import (
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// Shortage words one resource's sum, for reasons: need more besides used is over
// limit. The unit is that of the resource called unit; name is what users call it.
func Shortage(name, unit string, need, used, limit int64) reason.Shortage {
	return reason.Shortage{
		Resource: name,
		Need:     resource.Format(unit, need),
		Used:     resource.Format(unit, used),
		Limit:    resource.Format(unit, limit),
		Short:    resource.Format(unit, resource.Add(resource.Add(used, need), -limit)),
	}
}
