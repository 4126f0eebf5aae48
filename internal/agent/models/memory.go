package models

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tape/internal/git/disk"
)

// remembered is what is kept of habits in a file, because tape run is a program for each message. What a person is told
// is not kept, so that they are told in each program: pictures and tools that are left out.
type remembered struct {
	At    time.Time `json:"at"`
	Given []string  `json:"given,omitempty"`
	Limit int       `json:"limit,omitempty"`
	Plain []string  `json:"plain,omitempty"` // tools with plain schemas
}

// rememberFor is how long a refusal is remembered: servers are updated.
const rememberFor = 24 * time.Hour

// memoryFile is the file beside the file of keys in which refusals are kept; "" if there is none.
func memoryFile(keyFile string) string {
	if keyFile == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(keyFile), "servers.json")
}

// recall returns what is remembered of all servers. A file that cannot be read is as good as none.
func recall(path string, now time.Time) map[string]remembered {
	all := map[string]remembered{}
	raw, err := os.ReadFile(path)
	if path == "" || err != nil || json.Unmarshal(raw, &all) != nil {
		return map[string]remembered{}
	}
	maps.DeleteFunc(all, func(_ string, r remembered) bool { return now.Sub(r.At) > rememberFor || r.At.After(now) })
	return all
}

// recalled returns the habits that are remembered.
func recalled(path string) map[string]habits {
	out := map[string]habits{}
	for id, r := range recall(path, time.Now()) {
		h := habits{}.copied()
		h.limit = r.Limit
		for _, what := range r.Given {
			h.given[what] = true
		}
		for _, name := range r.Plain {
			h.tool[name] = 1
		}
		out[id] = h
	}
	return out
}

// keep writes what is known of a server to the file.
func (h habits) keep(path, id string) error {
	if path == "" {
		return nil
	}
	now := time.Now()
	all := recall(path, now)
	r := remembered{At: now, Limit: h.limit}
	for what := range h.given {
		if what != withoutPictures && what != withoutTools {
			r.Given = append(r.Given, what)
		}
	}
	for name, level := range h.tool {
		if level == 1 {
			r.Plain = append(r.Plain, name)
		}
	}
	slices.Sort(r.Given)
	slices.Sort(r.Plain)
	all[id] = r
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	var d *disk.FS
	return d.WriteFile(path, append(raw, '\n'))
}
