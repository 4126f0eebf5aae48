package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version of tape this is",
		Args:  takes(0),
		RunE: func(*cobra.Command, []string) error {
			version, commit := a.build()
			return a.result(struct {
				Version string `json:"version"`
				Commit  string `json:"commit"`
				Go      string `json:"go"`
			}{version, commit, runtime.Version()},
				"tape %s (commit %.12s, %s)", version, commit, runtime.Version())
		},
	}
}

// build says what was stamped into the program, or what Go recorded itself.
func (a *App) build() (version, commit string) {
	version, commit = a.Version, a.Commit
	info, ok := debug.ReadBuildInfo()
	if version == "" {
		version = "dev"
		if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
			version = info.Main.Version
		}
	}
	if commit == "" {
		commit = "unknown"
		for i := 0; ok && i < len(info.Settings); i++ {
			if info.Settings[i].Key == "vcs.revision" {
				commit = info.Settings[i].Value
			}
		}
	}
	return version, commit
}
