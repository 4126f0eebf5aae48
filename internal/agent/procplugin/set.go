package procplugin

import (
	"context"
	"sync"
)

// StartAll starts plugins in parallel and returns them in the order of configs, in which they have to be registered.
// If a plugin cannot be started, the error is logged and the plugin is off.
func StartAll(ctx context.Context, configs []Config, o Options) []*Process {
	all := make([]*Process, len(configs))
	var wait sync.WaitGroup
	for i, c := range configs {
		wait.Go(func() {
			p, err := Start(ctx, c, o)
			if err != nil {
				p.o.Log.Error("the plugin is off", "error", err)
			}
			all[i] = p
		})
	}
	wait.Wait()
	return all
}

// CloseAll closes plugins in parallel.
func CloseAll(all []*Process) {
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(p.Close)
	}
	wait.Wait()
}
