package store

import (
	"database/sql"
	"hash/fnv"
	"path"
	"strings"

	"tape/internal/store/activity"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/repo"
)

// sessionOf returns a number for the session that a tape belongs to. Subagents and forks belong to the session of
// their parent, and so do forks of forks. helper says that the tape is a subagent's.
func sessionOf(t *repo.Tape, helper bool) int64 {
	name := snapshot.RootName((*workspace.Tape)(t))
	if helper || t.IsFork() {
		name, _, _ = strings.Cut(name, "/agent-")
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return int64(h.Sum64()) //nolint:gosec // any number will do
}

// addWork ends an INSERT INTO work: what was done in the same quarter of an hour, with the same model and for the same person adds up.
const addWork = `
	ON CONFLICT DO UPDATE SET turns = turns + excluded.turns, active = active + excluded.active,
		input = input + excluded.input, output = output + excluded.output,
		cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write, cache_long = cache_long + excluded.cache_long,
		noted_cost = noted_cost + excluded.noted_cost, noted_input = noted_input + excluded.noted_input, noted_output = noted_output + excluded.noted_output,
		noted_read = noted_read + excluded.noted_read, noted_write = noted_write + excluded.noted_write, noted_long = noted_long + excluded.noted_long,
		calls = calls + excluded.calls, failed = failed + excluded.failed`

// addSums adds what was done in a tape to the sums in the index.
func (d *DB) addSums(tape int64, s activity.Sums) error {
	if s.Model != "" {
		err := d.exec(`INSERT INTO work SELECT tape, quarter, ?, person, turns, active, input, output, cache_read, cache_write, cache_long,
			noted_cost, noted_input, noted_output, noted_read, noted_write, noted_long, calls, failed
			FROM work WHERE tape = ? AND model = ''`+addWork, s.Model, tape)
		if err == nil {
			err = d.exec("DELETE FROM work WHERE tape = ? AND model = ''", tape)
		}
		if err != nil {
			return err
		}
	}
	for _, w := range s.Work {
		if err := d.exec("INSERT INTO work VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+addWork,
			tape, w.Quarter, w.Model, w.Person, w.Turns, w.Active, w.Input, w.Output, w.CacheRead, w.CacheWrite, w.CacheLong,
			w.Noted.Cost, w.Noted.Input, w.Noted.Output, w.Noted.CacheRead, w.Noted.CacheWrite, w.Noted.CacheLong, w.Calls, w.Failed); err != nil {
			return err
		}
	}
	for _, t := range s.Tools {
		if err := d.exec(`INSERT INTO tools VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, failed = failed + excluded.failed, active = active + excluded.active`,
			tape, t.Quarter, t.Name, t.Calls, t.Failed, t.Active); err != nil {
			return err
		}
	}
	for _, step := range s.Steps {
		at := sql.NullInt64{Int64: step.At, Valid: step.At != 0}
		if err := d.exec("INSERT INTO said VALUES (?, ?, ?, ?)", DocOf(tape, step.Entry), at, step.Commit, step.Text); err != nil {
			return err
		}
	}
	return d.addTouches(tape, s.Touches)
}

func (d *DB) addTouches(tape int64, list []activity.Touch) error {
	paths := map[string]int64{}
	for _, t := range list {
		no := paths[t.Path]
		if no == 0 {
			found, err := d.row("SELECT no FROM paths WHERE path = ?", []any{t.Path}, &no)
			if err == nil && !found {
				base := path.Base(strings.ReplaceAll(t.Path, `\`, "/"))
				_, err = d.row("INSERT INTO paths (path, base) VALUES (?, ?) RETURNING no", []any{t.Path, base}, &no)
			}
			if err != nil {
				return err
			}
			paths[t.Path] = no
		}
		at := sql.NullInt64{Int64: t.At, Valid: t.At != 0}
		if err := d.exec(`INSERT INTO touches VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET reads = reads + excluded.reads, writes = writes + excluded.writes,
				added = added + excluded.added, removed = removed + excluded.removed`,
			no, DocOf(tape, t.Entry), at, t.Reads, t.Writes, t.Added, t.Removed); err != nil {
			return err
		}
	}
	return nil
}
