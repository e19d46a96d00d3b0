package report

import (
	"time"

	"weft/internal/view"
)

// Hardware is what devices have said of themselves, as weft facts has kept it.
type Hardware struct {
	From    time.Time    `json:"from"` // the oldest answer
	To      time.Time    `json:"to"`   // the youngest
	Tables  []view.Table `json:"tables"`
	Against []string     `json:"against,omitempty"` // what speaks against the files, each with its device
	Unasked []string     `json:"unasked,omitempty"` // devices of the files that have said nothing
}

// Age says when it was asked for.
func (h *Hardware) Age() string {
	from, to := h.From.UTC().Format(stamp), h.To.UTC().Format(stamp)
	if from == to {
		return from
	}
	return from + " to " + to
}
