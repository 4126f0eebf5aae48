package api

// Health is an answer to who asks whether there is one.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}
