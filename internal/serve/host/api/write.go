package api

import "encoding/json"

// NewEntry is an entry to append.
type NewEntry struct {
	Kind    string          `json:"kind"`
	Payload json.RawMessage `json:"payload"`
	Meta    json.RawMessage `json:"meta,omitempty"`
	Date    string          `json:"date,omitempty"`
}

// AppendRequest has the entries to append in one transaction.
type AppendRequest struct {
	Entries []NewEntry `json:"entries"`
}

// Appended says which entries a request has written.
type Appended struct {
	FirstSeq int64 `json:"first_seq"`
	LastSeq  int64 `json:"last_seq"`
	Repeated bool  `json:"repeated" jsonschema:"an earlier request with the same key wrote them"`
}

// HandoffRequest writes an anchor.
type HandoffRequest struct {
	Name    string          `json:"name"`
	Summary string          `json:"summary,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
}

// HandoffAnswer describes the anchor.
type HandoffAnswer struct {
	Name     string `json:"name"`
	Seq      int64  `json:"seq"`
	Repeated bool   `json:"repeated"`
}

// ForkRequest begins a fork.
type ForkRequest struct {
	Name string `json:"name"`
	At   string `json:"at,omitempty" jsonschema:"an anchor or an entry (@17); missing: the tape's end"`
}

// ForkAnswer describes an open fork.
type ForkAnswer struct {
	Tape     string `json:"tape" jsonschema:"the fork's name as a conversation"`
	Base     int64  `json:"base_seq"`
	Repeated bool   `json:"repeated"`
}

// CloseRequest closes a fork.
type CloseRequest struct {
	Fork string `json:"fork" jsonschema:"the fork's name, without the name of its tape"`
}

// CloseAnswer describes a closed fork.
type CloseAnswer struct {
	Fork     string `json:"fork"`
	Status   string `json:"status"`
	Merged   int    `json:"merged" jsonschema:"how many entries the tape got"`
	Repeated bool   `json:"repeated"`
}
