package procplugin

import (
	"context"
	"sync"
)

// StartAll starts plugins side by side and gives them in the order of configs, in which they
// are to be registered. Those that cannot be started are logged, and are off.
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

// CloseAll closes plugins side by side.
func CloseAll(all []*Process) {
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(p.Close)
	}
	wait.Wait()
}
