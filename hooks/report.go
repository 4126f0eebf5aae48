package hooks

import (
	"reflect"
	"time"
)

// HookReport lists the plugins that implement a hook.
type HookReport struct {
	Hook    string         `json:"hook"`
	Plugins []PluginReport `json:"plugins"` // in the order in which they are asked
}

// PluginReport counts the calls of a plugin's function for a hook since it was registered.
type PluginReport struct {
	Name      string        `json:"name"`
	Calls     int           `json:"calls"`
	Failures  int           `json:"failures"`
	LastError string        `json:"last_error,omitempty"`
	Mean      time.Duration `json:"mean_ns"`
	Status    string        `json:"status,omitempty"` // what [Plugin.Status] returns

	total time.Duration
}

type hookKey struct{ hook, plugin string }

// count records one call of a plugin's hook.
func (r *Runtime) count(hook string, p *Plugin, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := hookKey{hook, p.Name}
	f := r.stats[key]
	if f == nil {
		f = &PluginReport{Name: p.Name}
		r.stats[key] = f
	}
	f.Calls++
	f.total += took
	f.Mean = f.total / time.Duration(f.Calls)
	if err != nil {
		f.Failures++
		f.LastError = err.Error()
	}
}

// Report lists the implemented hooks, in the order of the contract.
func (r *Runtime) Report() []HookReport {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var report []HookReport
	for field := range reflect.TypeFor[Plugin]().Fields() {
		hook := field.Tag.Get("hook")
		if len(r.byHook[hook]) == 0 {
			continue
		}
		h := HookReport{Hook: hook}
		for _, p := range r.byHook[hook] {
			f := PluginReport{Name: p.Name}
			if counted := r.stats[hookKey{hook, p.Name}]; counted != nil {
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
