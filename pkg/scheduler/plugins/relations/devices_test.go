package relations_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/pkg/scheduler/plugins/relations"
)

func TestSelectorsChooseDevices(t *testing.T) {
	tests := map[string]struct {
		selectors []string
		want      bool
	}{
		"none":                          {nil, true},
		"its driver":                    {[]string{`device.driver == "gpu.example.com"`}, true},
		"another driver":                {[]string{`device.driver == "nic.example.com"`}, false},
		"an attribute":                  {[]string{`device.attributes["gpu.example.com"].model == "big"`}, true},
		"a capacity that it has":        {[]string{`device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))`}, true},
		"all but the last":              {[]string{`device.driver == "gpu.example.com"`, `device.attributes["gpu.example.com"].model == "small"`}, false},
		"that it may be shared":         {[]string{`device.allowMultipleAllocations`}, true},
		"an attribute it does not have": {[]string{`device.attributes["gpu.example.com"].colour == "red"`}, false},
		"what nobody can read":          {[]string{`device.`}, false},
		"a kind that is not known":      {[]string{""}, false},
	}
	d := &resourcev1.Device{
		Name: "d", AllowMultipleAllocations: new(true),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: new("big")}},
		Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: apiresource.MustParse("80Gi")}},
	}
	selects := relations.Selects()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var selectors []resourcev1.DeviceSelector
			for _, expression := range tt.selectors {
				s := resourcev1.DeviceSelector{}
				if expression != "" {
					s.CEL = &resourcev1.CELDeviceSelector{Expression: expression}
				}
				selectors = append(selectors, s)
			}
			if got := selects("gpu.example.com", d, selectors); got != tt.want {
				t.Errorf("chosen: %v, want %v", got, tt.want)
			}
		})
	}
}
