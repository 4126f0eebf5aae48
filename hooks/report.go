package hooks

import (
	"reflect"
	"time"
)

// HookReport says who implements a hook.
type HookReport struct {
	Hook    string         `json:"hook"`
	Plugins []PluginReport `json:"plugins"` // in the order in which they are asked
}

// PluginReport says how a plugin's function for a hook has done since it was registered.
type PluginReport struct {
	Name      string        `json:"name"`
	Calls     int           `json:"calls"`
	Failures  int           `json:"failures"`
	LastError string        `json:"last_error,omitempty"`
	Mean      time.Duration `json:"mean_ns"`
	Status    string        `json:"status,omitempty"` // of [Plugin.Status]

	total time.Duration
}

type figureKey struct{ hook, plugin string }

// count notes that a plugin was asked.
func (r *Runtime) count(hook string, p *Plugin, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := figureKey{hook, p.Name}
	f := r.figures[key]
	if f == nil {
		f = &PluginReport{Name: p.Name}
		r.figures[key] = f
	}
	f.Calls++
	f.total += took
	f.Mean = f.total / time.Duration(f.Calls)
	if err != nil {
		f.Failures++
		f.LastError = err.Error()
	}
}

// Report lists the hooks that somebody implements, in the order of the contract.
func (r *Runtime) Report() []HookReport {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var report []HookReport
	for field := range reflect.TypeFor[Plugin]().Fields() {
		hook := field.Tag.Get("hook")
		if len(r.asked[hook]) == 0 {
			continue
		}
		h := HookReport{Hook: hook}
		for _, p := range r.asked[hook] {
			f := PluginReport{Name: p.Name}
			if counted := r.figures[figureKey{hook, p.Name}]; counted != nil {
				f = *counted
			}
			if p.Status != nil {
				f.Status = p.Status()
			}
			h.Plugins = append(h.Plugins, f)
		}
		report = append(report, h)
	}
	return report
}
