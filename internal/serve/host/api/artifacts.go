package api

// ArtifactAnswer describes an artifact.
type ArtifactAnswer struct {
	ID             string `json:"id"`
	MIMEType       string `json:"mime_type"`
	Name           string `json:"name"`
	Size           int64  `json:"size_bytes"`
	SHA256         string `json:"sha256"`
	ConversationID string `json:"conversation_id"`
	ExpiresAt      string `json:"expires_at"`
}

// ArtifactPart is a part of an artifact's content.
type ArtifactPart struct {
	Offset  int64  `json:"offset"`
	Length  int    `json:"length"`
	Size    int64  `json:"size_bytes"`
	Base64  string `json:"base64"`
	HasMore bool   `json:"has_more"`
}
