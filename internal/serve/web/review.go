package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/internal/git/projectgit"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/review"
	"tape/internal/sessions/trace"
	"tape/internal/show/block"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/store/about"
	"tape/internal/store/workspace"
	"tape/repo"
)

// How much a review shows.
const (
	reviewBranches = 12
	reviewBytes    = 100_000   // of all changes; the page of a commit alone has those that are left out
	aloneBytes     = 1_000_000 // of changes on the page of a commit alone
	aloneLines     = 20_000
	openLines      = 60 // a file with at most so many changed lines is open
	failuresShown  = 5  // of a request
)

// reviewPage is a review of commits, or the branches that can be reviewed.
type reviewPage struct {
	Asked, Project string
	Parsed         string // the range as it was understood
	Branches       []projectgit.Branch
	*review.Review
	Commits    []reviewedCommit
	OpenAsked  []talk
	AgentNames []string
}

// reviewedCommit is a commit with what led to it and what it changed.
type reviewedCommit struct {
	trace.Credit
	Short   string
	Talk    []talk
	ByHand  int // of Lines, if a session wrote others
	Files   []changedFile
	Removed int    // lines
	Link    string // to the page of the commit alone, if changes are left out here
}

// talk is a request that led to a commit.
type talk struct {
	Link, Session, Agent, Evidence string
	First                          int64
	Date                           time.Time
	Prompt                         string
	Request                        template.HTML // "": it is shown with an earlier commit
	Long                           bool
	Answer                         template.HTML
	AnswerLong                     bool
	AnswerID                       int64
	Failed                         []outline.Failure
	MoreFailed                     int
	Ended                          string
	Files                          []string
	Again                          bool // shown with an earlier commit
}

// changedFile is a file that a commit changed.
type changedFile struct {
	Path, Op       string
	Added, Removed int64
	HTML           template.HTML // "": left out
	Why            string        // why there is nothing to show
	Open           bool
}

// projectDir is the folder of the workspace's project; "" if it is not known.
func (s *View) projectDir(w *space) string {
	if w.store == s.Store && s.Project != "" {
		return s.Project
	}
	return workspace.ProjectOf(w.dir).Dir
}

// hasProject reports whether the pages of a place can review commits.
func (s *View) hasProject(from Source) bool {
	l, ok := from.(local)
	return ok && workspace.RepositoryAround(s.projectDir(l.space)) != ""
}

// review shows what led to the commits of ?range=, as tape review does, beside what they changed. Without ?range=, it
// lists branches.
func (s *View) review(r *request) error {
	w := r.local().space
	dir := s.projectDir(w)
	if dir == "" {
		return fmt.Errorf("%w: no project is known for this workspace, so there are no commits to review", repo.ErrNotFound)
	}
	project, err := projectgit.Open(r.Context(), dir)
	if errors.Is(err, projectgit.ErrNoRepository) {
		err = fmt.Errorf("%w: %w", repo.ErrNotFound, err)
	}
	if err != nil {
		return err
	}
	d := reviewPage{Project: filepath.Base(project.Top), Asked: strings.TrimSpace(r.URL.Query().Get("range"))}
	if d.Branches, err = project.Branches(r.Context(), reviewBranches); err != nil {
		return err
	}
	if !r.URL.Query().Has("range") {
		return s.show(r, "review", "Review", d)
	}
	asked, err := review.Parse(r.Context(), project, d.Asked)
	if err != nil {
		return err
	}
	if d.Review, err = s.reviewOf(r.Context(), w, project, asked); err != nil {
		if errors.Is(err, projectgit.ErrManyCommits) {
			err = fmt.Errorf("%w: %w; give a shorter range, such as HEAD~50..HEAD", repo.ErrInvalid, err)
		}
		return err
	}
	if err := d.fill(r, s, project); err != nil {
		return err
	}
	return s.show(r, "review", "Review of "+asked.Name, d)
}

// reviewOf reads what led to commits.
func (s *View) reviewOf(ctx context.Context, w *space, project projectgit.Repo, asked review.Range) (*review.Review, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &trace.Finder{Store: w.store, Index: w.index, Project: project.Top, Home: workspace.ProjectOf(w.dir).Dir,
		About: func(ctx context.Context) (map[string]about.Tape, error) {
			facts, _, err := catalog.About(ctx, w.index, w.store, nil)
			return facts, err
		}}
	return review.Of(ctx, f, project, asked, w.prices())
}

// fill makes what the page shows of the commits.
func (d *reviewPage) fill(r *request, s *View, project projectgit.Repo) error {
	d.Parsed = d.Name
	for _, name := range d.Sessions {
		if agent := agentName(d.Agents[name].Agent); agent != "" && !slices.Contains(d.AgentNames, agent) {
			d.AgentNames = append(d.AgentNames, agent)
		}
	}
	alone := len(d.Credits) == 1
	left, lines := reviewBytes, reviewBytes/20
	if alone {
		left, lines = aloneBytes, aloneLines
	}
	seen := map[*review.Request]bool{}
	for _, c := range d.Credits {
		one := reviewedCommit{Credit: c, Short: display.ShortID(c.ID)[:9]}
		if c.Known > 0 {
			one.ByHand = c.Lines - c.Known
		}
		for _, share := range c.Shares {
			req := d.Request(share)
			t := s.talkOf(r, d.Agents[share.Tape], req)
			t.Evidence, t.Files, t.Again = review.Evidence(share, c), share.Files, seen[req]
			seen[req] = true
			one.Talk = append(one.Talk, t)
		}
		if !c.Merge {
			files, err := project.Diff(r.Context(), c.ID, min(lines, max(0, left/20)))
			if err != nil {
				return err
			}
			for _, f := range files {
				shown := changedFileOf(f, left)
				left -= len(shown.HTML)
				one.Removed += f.Removed
				one.Files = append(one.Files, shown)
				if shown.HTML == "" && shown.Why == "" && !alone {
					one.Link = r.base + "/review?" + url.Values{"range": {c.ID}}.Encode()
				}
			}
		}
		d.Commits = append(d.Commits, one)
	}
	for _, req := range d.Open {
		d.OpenAsked = append(d.OpenAsked, s.talkOf(r, d.Agents[req.Tape], req))
	}
	return nil
}

// talkOf is what a page shows of a request.
func (s *View) talkOf(r *request, a about.Tape, req *review.Request) talk {
	t := talk{Link: r.base + "/t/" + url.PathEscape(req.Tape), First: req.First, Date: req.Date, Prompt: req.Prompt, Session: cmp.Or(labelOf(a), req.Tape), Agent: agentName(a.Agent), Ended: req.Ended()}
	t.Request, t.Long = s.excerpt(cmp.Or(req.Asked.Text, req.Prompt))
	if req.Answer.Text != "" {
		t.Answer, t.AnswerLong = s.excerpt(req.Answer.Text)
		t.AnswerID = req.Answer.Entry
	}
	t.Failed = req.Failed[:min(len(req.Failed), failuresShown)]
	t.MoreFailed = len(req.Failed) + req.Missing - len(t.Failed)
	return t
}

// changedFileOf renders what a commit changed in a file, if that has at most most bytes.
func changedFileOf(f projectgit.FileDiff, most int) changedFile {
	out := changedFile{Path: f.Path, Added: int64(f.Added), Removed: int64(f.Removed)}
	switch {
	case f.New:
		out.Op = "new"
	case f.Deleted:
		out.Op = "deleted"
	case f.Former != "":
		out.Op = "was " + f.Former
	}
	switch {
	case f.Binary:
		out.Why = "not a text"
	case len(f.Hunks) == 0:
		out.Why = "no line has changed"
	case f.Left > 0:
	default:
		var b strings.Builder
		for i, h := range f.Hunks {
			lines := make([]display.TextLine, len(h.Lines))
			for n, l := range h.Lines {
				lines[n] = display.TextLine{Sign: l[0], Text: strings.ReplaceAll(l[1:], "\t", "    ")}
			}
			display.MarkWords(lines)
			b.WriteString(block.HunkHead(h.New, i == 0) + string(linesHTML(lines)))
		}
		if b.Len() <= most {
			out.HTML = template.HTML(b.String()) //nolint:gosec // package block escapes
			out.Open = f.Added+f.Removed <= openLines
		}
	}
	return out
}

// Tokens are the sum of all tokens of the requests.
func (d reviewPage) Tokens() int64 {
	t := d.Sum.AllTokens()
	return t.Input + t.Output + t.CacheRead + t.CacheWrite
}
