package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

type shareOptions struct {
	app    *App
	remote string
	forks  bool
	allow  []string
}

func newShareCmd(a *App) *cobra.Command {
	o := &shareOptions{app: a}
	cmd := &cobra.Command{
		Use:   "share TAPE [--remote REMOTE] [--forks] [--allow-secret FINGERPRINT]…",
		Short: "Push one session and print the commands to open it",
		Long: `Push one session or fork to a remote, and print the commands with which someone else can open it:
with tape, with tape in an existing workspace, and with git alone. Secrets are searched as in
tape push, and passwords in the remote's address are left out.`,
		Example: `  tape share main
  tape share telegram:123 --remote team --forks`,
		Args:              takes(1, "TAPE"),
		ValidArgsFunction: upTo(1, a.completeTapes()),
		RunE:              a.inStoreOf(o.run),
	}
	cmd.Flags().StringVar(&o.remote, "remote", "", "push to `REMOTE` (default: origin, or the only one)")
	cmd.Flags().BoolVar(&o.forks, "forks", false, "share the forks of the session, too")
	allowFlag(cmd, &o.allow)
	completeFlag(cmd, "remote", a.completeRemotes())
	return cmd
}

func (o *shareOptions) run(ctx context.Context, store *repo.Store, args []string) error {
	remote, err := findRemote(ctx, store, o.remote)
	if o.app.numbered && o.remote == "" && errors.Is(err, repo.ErrNotFound) {
		return layout.NotFound("tape remote add origin URL"+o.app.inWorkspaceFlag()+" names one", "the workspace of that session has no remote")
	}
	if err != nil {
		return err
	}
	t, err := o.app.findTape(ctx, store, args[0])
	if err != nil {
		return err
	}
	done, err := store.Push(ctx, remote.Name, &repo.PushOptions{Progress: o.app.ProgressWriter(), Tapes: []string{t.Name()}, Forks: o.forks, Allow: o.allow})
	if err != nil {
		return explainRemote(err)
	}
	if err := rows.Rejected(done); err != nil {
		return err
	}
	status := repo.RefStatus{Status: repo.RefUpToDate}
	for _, s := range done {
		if s.Tape == t.Name() && s.Ref == "refs/heads/"+t.Branch() {
			status = s
		}
	}
	url := withoutPassword(remote.URL)
	clone, pull, git := howToOpen(t, remote.Name, url)
	if o.app.JSON {
		return o.app.Emit(object{{"tape", t.Name()}, {"remote", remote.Name}, {"url", url}, {"branch", t.Branch()}, {"status", status.Status},
			{"entries", status.Entries}, {"clone", clone}, {"pull", pull}, {"git", git}})
	}
	news := "it is up to date"
	if status.Status != repo.RefUpToDate {
		news = display.Entries(status.Entries) + " pushed"
	}
	o.app.PrintUnlessQuiet("%s is shared on %s: %s\n", quoted(t.Name()), display.Line(remote.Name), news)
	o.app.Printf("with tape, in the folder of the project:\n  %s\n", display.Line(clone))
	o.app.Printf("in an existing workspace (the second command is enough if it has this remote):\n  %s\n", display.Line(pull))
	o.app.Printf("with git alone:\n  %s\n", display.Line(git))
	return nil
}

func howToOpen(t *repo.Tape, remote, address string) (clone, pull, git string) {
	url, name, tape := shellWord(address), shellWord(remote), shellWord(t.Name())
	flag, arg := " --tape "+tape, " "+tape
	if strings.HasPrefix(t.Name(), "-") { // not an option
		flag, arg = " --tape="+tape, " -- "+tape
	}
	clone = "tape clone " + url + flag
	if t.IsFork() {
		clone = "tape clone " + url + " && tape switch" + arg
	}
	pull = fmt.Sprintf("tape remote add %s %s && tape pull %s%s", name, url, name, flag)
	return clone, pull, fmt.Sprintf("git clone -b %s %s", shellWord(t.Branch()), url)
}

// withoutPassword removes the masked password from an address that Store.Remotes returned, and the user
// from a web address, so that the address can be given to others.
func withoutPassword(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	host, path, slash := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	if !ok || at < 0 {
		return url
	}
	user, host := host[:at], host[at+1:]
	if user = strings.TrimSuffix(user, ":***"); strings.HasPrefix(strings.ToLower(scheme), "http") || user == "***" {
		user = ""
	}
	if user != "" {
		host = user + "@" + host
	}
	if slash {
		host += "/" + path
	}
	return scheme + "://" + host
}
