package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

type shareOptions struct {
	app          *App
	tape, remote string
	forks        bool
	allow        []string
}

func newShareCmd(a *App) *cobra.Command {
	o := &shareOptions{app: a}
	cmd := &cobra.Command{
		Use:   "share TAPE [--remote REMOTE] [--forks] [--allow-secret FINGERPRINT]…",
		Short: "Push one tape, and say how someone else opens it",
		Long: `Push one tape, or fork, to a remote, and print the commands with which someone else opens
it: with tape, with tape in a workspace that there is already, and with git alone. Secrets
are looked for as by tape push, and passwords in the remote's address are left out.`,
		Example: `  tape share main
  tape share telegram:123 --remote team --forks`,
		Args:              takes(1, "TAPE"),
		ValidArgsFunction: a.completeTapeArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.tape = args[0]
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.remote, "remote", "", "push to `REMOTE` (default: origin, or the only one)")
	cmd.Flags().BoolVar(&o.forks, "forks", false, "share the forks of the tape, too")
	cmd.Flags().StringArrayVar(&o.allow, "allow-secret", nil, "let through what has this `FINGERPRINT`, now and later; can be repeated")
	a.completeFlag(cmd, "remote", a.completeRemotes)
	return cmd
}

// sharedJSON says what was shared, and how it is opened.
type sharedJSON struct {
	Tape    string `json:"tape"`
	Remote  string `json:"remote"`
	URL     string `json:"url"`
	Branch  string `json:"branch"`
	Status  string `json:"status"`
	Entries int64  `json:"entries"`
	Clone   string `json:"clone"`
	Pull    string `json:"pull"`
	Git     string `json:"git"`
}

func (o *shareOptions) run(ctx context.Context) error {
	a := o.app
	store, remote, err := a.pickRemote(ctx, o.remote)
	if err != nil {
		return err
	}
	t, err := store.Tape(ctx, o.tape)
	if err != nil {
		return err
	}
	done, err := store.Push(ctx, remote.Name, &repo.PushOptions{RemoteOptions: a.transport(), Tapes: []string{t.Name()}, Forks: o.forks, Allow: o.allow})
	if err != nil {
		return explainRemote(err)
	}
	if err := rejected(done); err != nil {
		return err
	}
	out := howToOpen(t, remote)
	for _, s := range done {
		if s.Tape == t.Name() && s.Ref == "refs/heads/"+t.Branch() {
			out.Status, out.Entries = s.Status, s.Entries
		}
	}
	if a.json {
		return a.emit(out)
	}
	news := "it has everything"
	if out.Status != repo.RefUpToDate {
		news = entries(out.Entries) + " went there"
	}
	a.say("%s is shared on %s: %s\n", quoted(t.Name()), safeLine(remote.Name), news)
	a.printf("with tape, in the folder of the project:\n  %s\n", safeLine(out.Clone))
	a.printf("in a workspace that there is already (the second half is enough if it has this remote):\n  %s\n", safeLine(out.Pull))
	a.printf("with git alone:\n  %s\n", safeLine(out.Git))
	return nil
}

// howToOpen makes the commands with which a tape that was pushed is opened.
func howToOpen(t *repo.Tape, r repo.Remote) sharedJSON {
	out := sharedJSON{Tape: t.Name(), Remote: r.Name, URL: withoutPassword(r.URL), Branch: t.Branch(), Status: repo.RefUpToDate}
	url, name, tape, dash := shellWord(out.URL), shellWord(r.Name), shellWord(t.Name()), strings.HasPrefix(t.Name(), "-")
	flag, arg := " --tape "+tape, " "+tape
	if dash { // not an option
		flag, arg = " --tape="+tape, " -- "+tape
	}
	if t.IsFork() {
		out.Clone = "tape clone " + url + " && tape switch" + arg
	} else {
		out.Clone = "tape clone " + url + flag
	}
	out.Pull = fmt.Sprintf("tape remote add %s %s && tape pull %s%s", name, url, name, flag)
	out.Git = fmt.Sprintf("git clone -b %s %s", shellWord(t.Branch()), url)
	return out
}

// withoutPassword is an address, as Remotes returns it, for others: without the password
// that is hidden in it, and without the user of a web address.
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
