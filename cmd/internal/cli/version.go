package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of tape",
		RunE:  func(*cobra.Command, []string) error { return a.showVersion() },
	}
}

func (a *App) showVersion() error {
	version, commit := a.build()
	return a.Result(object{{"version", version}, {"commit", commit}, {"go", runtime.Version()}},
		"tape %s (commit %.12s, %s)", version, commit, runtime.Version())
}

// build describes the build: as set by the linker, else as Go recorded it.
func (a *App) build() (version, commit string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		if version = info.Main.Version; version == "(devel)" {
			version = ""
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	return cmp.Or(a.Version, version, "dev"), cmp.Or(a.Commit, commit, "unknown")
}
