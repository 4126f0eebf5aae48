package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/index"
	"tape/repo"
)

type infoJSON struct {
	Name         string   `json:"name"`
	Entries      int64    `json:"entries"`
	Anchors      int      `json:"anchors"`
	LastAnchor   string   `json:"last_anchor"`
	SinceAnchor  int64    `json:"entries_since_last_anchor"`
	TokenUsage   *int64   `json:"last_token_usage"`
	CacheHitRate *float64 `json:"last_token_cache_hit_rate"`
	Workspace    string   `json:"workspace"`
	Branch       string   `json:"branch"`
	Dir          any      `json:"dir"`
	Commit       string   `json:"commit"`
	Uncommitted  int64    `json:"uncommitted"`
	Size         int64    `json:"size"`
	Updated      string   `json:"updated"`
	Archives     int      `json:"archives"`
	Forks        int      `json:"forks"`
	Parent       any      `json:"parent"` // of a fork
	Base         any      `json:"base"`
	Index        string   `json:"index"`
	Current      bool     `json:"current"`

	Remotes []distanceJSON `json:"remotes"`
}

func newInfoCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "info",
		Short: "Show an overview of the tape",
		Long: `Show what the tape holds: entries and phases, the open phase, the token use of the last
run, what is not committed yet, its forks, whether the index has everything, and where it
is; of a fork, where it begins; for each remote, how many entries are only here (ahead) or
only there (behind), as of the last push, fetch or pull.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runInfo(cmd.Context()) },
	}
}

func (a *App) runInfo(ctx context.Context) error {
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	info, err := t.Info(ctx)
	if err != nil {
		return err
	}
	archives, err := t.Archives(ctx)
	if err != nil {
		return err
	}
	forks, err := t.Forks(ctx)
	if err != nil {
		return err
	}
	store := t.Store()
	indexed, err := index.New(store, nil).State(ctx, t)
	if err != nil {
		return err
	}
	out := infoJSON{Name: info.Name, Entries: info.Entries, Anchors: info.Anchors, LastAnchor: info.LastAnchor,
		SinceAnchor: info.EntriesSinceLastAnchor, TokenUsage: info.Usage.TotalTokens, CacheHitRate: info.Usage.CacheHitRate,
		Workspace: store.Dir(), Branch: info.Branch, Dir: orNull(info.Dir), Commit: info.Commit, Uncommitted: info.Uncommitted,
		Size: info.Size, Updated: info.Updated, Archives: len(archives), Forks: len(forks), Index: indexed,
		Current: info.Name == store.CurrentTape()}
	distances, err := t.Distances(ctx)
	if err != nil {
		return err
	}
	out.Remotes = append([]distanceJSON{}, describeDistances(distances)...)
	begins, err := forkBegins(ctx, t)
	if err != nil {
		return err
	}
	if t.IsFork() {
		out.Parent = t.Parent()
	}
	if begins != nil {
		out.Base = begins.Entry
	}
	if a.json {
		return a.emit(out)
	}
	a.showInfo(info, out, begins)
	return nil
}

// showInfo shows the overview to people.
func (a *App) showInfo(info repo.Info, out infoJSON, begins *repo.Base) {
	current := ""
	if out.Current {
		current = " (current)"
	}
	pairs := []string{"tape", truncate(info.Name, 100) + current}
	if begins != nil {
		pairs = append(pairs, "fork of", fmt.Sprintf("%s at %s, with %s of its own", truncate(begins.Parent, 100), baseText(*begins),
			entries(info.Entries-begins.Entry)))
	}
	pairs = append(pairs,
		"entries", fmt.Sprintf("%d, of which %d since the last anchor", info.Entries, info.EntriesSinceLastAnchor),
		"phases", strconv.Itoa(info.Anchors),
		"last anchor", truncate(info.LastAnchor, 100),
		"updated", a.ago(info.Updated),
	)
	pairs = append(pairs, usagePairs(info.Usage)...)
	pairs = append(pairs,
		"uncommitted", entries(info.Uncommitted),
		"size", bytesText(info.Size),
		"archives", strconv.Itoa(out.Archives),
		"forks", strconv.Itoa(out.Forks),
		"index", out.Index)
	for _, d := range out.Remotes {
		pairs = append(pairs, truncate(d.Remote, 30), d.text())
	}
	pairs = append(pairs,
		"workspace", out.Workspace,
		"branch", info.Branch,
		"commit", info.Commit)
	if info.Dir != "" && info.Dir != out.Workspace {
		pairs = append(pairs, "folder", info.Dir)
	}
	a.fields(pairs...)
}

// forkBegins tells where a fork begins, nil for a tape, and for a fork whose beginning is
// nowhere to be found any more.
func forkBegins(ctx context.Context, t *repo.Tape) (*repo.Base, error) {
	if !t.IsFork() {
		return nil, nil
	}
	b, err := t.Base(ctx)
	if errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	return &b, err
}

func usagePairs(u repo.Usage) []string {
	if u.TotalTokens == nil {
		return nil
	}
	text := fmt.Sprintf("%d tokens", *u.TotalTokens)
	if u.CacheHitRate != nil {
		text += fmt.Sprintf(", %.0f%% of the input cached", *u.CacheHitRate*100)
	}
	return []string{"last run", text}
}

type anchorJSON struct {
	Seq     int             `json:"anchor_seq"`
	Name    string          `json:"name"`
	State   json.RawMessage `json:"state"`
	Entries int64           `json:"entries"`
	FirstID int64           `json:"first_id"`
	LastID  int64           `json:"last_id"`
	Date    string          `json:"date"`
	Commit  any             `json:"commit"`
	Tag     any             `json:"tag"`
}

func newAnchorsCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "anchors",
		Short: "List the phases of the tape",
		Args:  takes(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runAnchors(cmd.Context()) },
	}
}

func (a *App) runAnchors(ctx context.Context) error {
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	phases, err := t.Phases(ctx)
	if err != nil {
		return err
	}
	if !a.json {
		a.page()
		table := newTable("SEQ", "NAME", ">ENTRIES", "DATE", "COMMIT", "TAG", "SUMMARY")
		for _, p := range phases {
			table.add(fmt.Sprintf("%03d", p.Seq), p.Name, strconv.FormatInt(p.Entries, 10), a.ago(p.Date), fmt.Sprintf("%.10s", p.Commit),
				p.Tag, shorten(strings.Join(strings.Fields(p.Summary()), " "), 200))
		}
		table.write(a)
		return nil
	}
	for _, p := range phases {
		row := anchorJSON{Seq: p.Seq, Name: p.Name, State: p.State, Entries: p.Entries, FirstID: p.FirstID, LastID: p.LastID,
			Date: p.Date, Commit: orNull(p.Commit), Tag: orNull(p.Tag)}
		if err := a.emit(row); err != nil {
			return err
		}
	}
	return nil
}
