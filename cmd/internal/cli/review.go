package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/reports"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/review"
	"tape/internal/sessions/trace"
	"tape/internal/store/layout"
	"tape/internal/store/prices"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
)

type reviewOptions struct {
	app      *App
	revision string
	markdown bool
	web      bool
}

func newReviewCmd(a *App) *cobra.Command {
	o := &reviewOptions{app: a}
	cmd := &cobra.Command{
		Use:   "review [BASE..HEAD | BRANCH | COMMIT]",
		Short: "Show which requests led to the commits of a branch",
		Long: `For each commit of a range, show the request and the session that led to it, how that is known, and
which calls failed on the way. Below, what was asked in these sessions up to the last commit with
nothing of it in the commits, then sums: sessions, people, agents, time, tokens and cost.

Without an argument, the range is the current branch against its upstream or, if that is the same
branch at a remote, against the main branch. BRANCH, also the head of a pull request that was
fetched, is reviewed against the same. A commit is reviewed alone.

The evidence is that of tape blame: the edits of sessions that have the commit's lines, then the
event of the agent's git commit. Nothing is guessed from times: what no session is known to have
written is called by hand or unknown.

--web opens the web view at the review: for each commit what it changed, file by file, beside the
requests that led to it. It runs until it is interrupted, as tape serve does.

All sessions of the workspace are examined; --tape selects one. Run it in the project. Secrets are
masked with --markdown, which is for a pull request.

With --json, the result is an object with range, commits, sessions, people, asked_without_commit,
unknown_commits and sums. A commit has lines (added ones that say enough to tell who wrote them),
known_lines (those that an edit has) and turns, each with the members that tape blame gives it and
lines, files and failed.`,
		Example: `  tape review
  tape review main..HEAD --markdown | gh pr comment --body-file -
  tape review HEAD
  tape review my-branch --web
  tape review v1.2..v1.3 --json | jq .unknown_commits`,
		Args: takes(0, "RANGE"),
		RunE: a.inStore(func(ctx context.Context, store *repo.Store, args []string) error {
			o.revision = strings.Join(args, "")
			return o.run(ctx, store)
		}),
	}
	cmd.Flags().BoolVar(&o.markdown, "markdown", false, "write Markdown, with secrets masked")
	cmd.Flags().BoolVar(&o.web, "web", false, "open the page of the web view, with the changes beside what led to them")
	cmd.MarkFlagsMutuallyExclusive("web", "markdown")
	terminal := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !o.web {
			return terminal(cmd, args)
		}
		o.revision = strings.Join(args, "")
		return a.onServe(o.inBrowser)(cmd, args)
	}
	return cmd
}

// inBrowser serves the web view, and opens its page of the review, until it is interrupted.
func (o *reviewOptions) inBrowser(ctx context.Context, h hostcmd.ServeHost, in hostcmd.ServeApp) error {
	if o.app.tapeName != "" {
		return layout.Invalid("leave --tape out", "the page of a review has all sessions")
	}
	project, err := projectgit.Open(ctx, ".")
	if err != nil {
		return projectError(err)
	}
	if _, err := review.Parse(ctx, project, o.revision); err != nil {
		return err
	}
	start := "/review?" + url.Values{"range": {o.revision}}.Encode()
	return h.Serve(ctx, hostcmd.ServeOptions{ServeApp: in, Listen: hostcmd.AnyPort, Open: true, Start: start, Project: project.Top})
}

func (o *reviewOptions) run(ctx context.Context, store *repo.Store) error {
	project, err := projectgit.Open(ctx, ".")
	if err != nil {
		return projectError(err)
	}
	r := reports.Reviewing{Project: project, Markdown: o.markdown, Mask: masking((*workspace.Store)(store))}
	if r.Range, err = review.Parse(ctx, project, o.revision); err != nil {
		return err
	}
	text, err := (*workspace.Store)(store).Setting("prices")
	if err != nil {
		return err
	}
	if r.Prices, err = prices.Parse(text); err != nil {
		return err
	}
	return o.app.withFinder(ctx, store, project, func(f *trace.Finder) error {
		return rangeError(r.Name, reports.ShowReview(ctx, &o.app.Streams, f, r))
	})
}

// rangeError adds the way out to an error of a range of commits.
func rangeError(name string, err error) error {
	if errors.Is(err, projectgit.ErrManyCommits) {
		return layout.Invalid("give a shorter one, such as HEAD~50..HEAD", "%s: %v", quoted(name), err)
	}
	return err
}

// masking returns a function that replaces the secrets in a text by marks, as tape publish does.
func masking(s *workspace.Store) func(string) string {
	scanner := s.Config().Scanner()
	mark := func(f secrets.Finding) string {
		key, err := s.MarkKey()
		if err != nil { // a mark without a fingerprint says nothing
			f.Fingerprint = "-"
			return f.Mark()
		}
		return f.Keyed(key).Mark()
	}
	return func(text string) string {
		out, _ := scanner.MaskAs(jsonl.AppendString(nil, text), s.Allows, mark)
		said, _ := jsonl.String(out)
		return said
	}
}
