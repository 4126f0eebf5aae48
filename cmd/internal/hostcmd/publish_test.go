package hostcmd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/stdio"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// host records what it was asked to publish.
type publishHost struct{ got *hostcmd.PublishOptions }

func (h publishHost) Publish(_ context.Context, o hostcmd.PublishOptions) error {
	*h.got = o
	return nil
}

// chosen runs the command in a workspace with the tapes main, old, of-shop and of-host, of which the last belongs to
// tape serve.
func chosen(t *testing.T, s *repo.Store, args ...string) (hostcmd.PublishOptions, []string, error) {
	t.Helper()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
	facts := map[string]about.Tape{
		"tape/main": {Updated: now, Asked: "x"}, "tape/old": {Updated: now.AddDate(0, -1, 0), Asked: "x"},
		"tape/of-shop": {Updated: now, Project: "/home/me/shop", Asked: "x"}, "tape/of-host": {Updated: now, Asked: "x"}, "fork/main/x": {Updated: now, Asked: "x"},
	}
	var got hostcmd.PublishOptions
	cmd := hostcmd.NewPublish(func(run func(context.Context, hostcmd.PublishHost, hostcmd.PublishApp) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), publishHost{&got}, hostcmd.PublishApp{Streams: &stdio.Streams{Now: func() time.Time { return now }}, Store: s, About: facts, Build: "1",
				Find:       func(ctx context.Context, s *repo.Store, name string) (*repo.Tape, error) { return s.Tape(ctx, name) },
				IsHostTape: func(_ context.Context, _ *repo.Store, name string) (bool, error) { return name == "of-host", nil },
				InProject:  func(f about.Tape, project string) bool { return strings.Contains(f.Project, project) }})
		}
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	var names []string
	for _, tp := range got.Tapes {
		names = append(names, tp.Name())
	}
	slices.Sort(names)
	return got, names, err
}

func TestChosen(t *testing.T) {
	s := storetest.New(t, nil)
	for _, name := range []string{"old", "of-shop", "of-host"} {
		_, err := s.CreateTape(t.Context(), name)
		storetest.Must(t, err)
	}
	for args, want := range map[string]string{
		"site":                            "",
		"site --all":                      "main of-shop old",
		"site --since 2026-11-20":         "main of-shop",
		"site --project shop":             "of-shop",
		"site --tape old":                 "old",
		"site --tape old --project shop":  "of-shop old",
		"-o one.html":                     "main",
		"-o one.html --tape old":          "old",
		"--branch p --push o --pushed":    "",
		"--branch pages --remove of-shop": "",
	} {
		o, names, err := chosen(t, s, strings.Fields(args)...)
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: %v, %v, want %s", args, names, err, want)
		}
		if named := strings.Contains(args, "--tape") || o.File != ""; named != (len(o.Named) == 1) || named && !slices.Contains([]string{"main", "old"}, o.Named[0]) {
			t.Errorf("%s: Named is %v", args, o.Named)
		}
	}
	if o, _, err := chosen(t, s, "--branch", "pages", "--push", "origin", "--remove", "gone", "--refuse-secrets"); err != nil ||
		!slices.Equal(o.Remove, []string{"gone"}) || o.Branch != "pages" || o.Push != "origin" || !o.Refuse {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestFlagsThatDoNotGoTogether(t *testing.T) {
	s := storetest.New(t, nil)
	for _, args := range []string{"", "site --branch pages", "site -o one.html", "site --push origin", "--branch pages --pushed", "-o one.html --remove x", "site --since never"} {
		if _, _, err := chosen(t, s, strings.Fields(args)...); !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, _, err := chosen(t, s, "site", "--tape", "none"); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("a tape that does not exist: %v, want %v", err, repo.ErrNotFound)
	}
}
