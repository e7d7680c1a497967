package muster

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

type logSettings struct{ level, format string }

// handler makes the one handler that all logs of the process go through.
func (s logSettings) handler(out io.Writer) (slog.Handler, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.level)); err != nil {
		return nil, fmt.Errorf("--log-level=%s: give debug, info, warn or error", s.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch s.format {
	case "text":
		return slog.NewTextHandler(out, options), nil
	case "json":
		return slog.NewJSONHandler(out, options), nil
	default:
		return nil, fmt.Errorf("--log-format=%s: give text or json", s.format)
	}
}

// install makes h the handler of every logging library in the process.
func install(h slog.Handler) logr.Logger {
	log := logr.FromSlogHandler(h)
	klog.SetSlogLogger(slog.New(h))
	ctrl.SetLogger(log)
	return log
}
