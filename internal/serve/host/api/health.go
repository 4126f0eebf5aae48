package api

// Health is the answer of the health check.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}
