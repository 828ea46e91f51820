package ir

// Gathering is what is known of elements that lanes read by coordinates. What is read does not depend on it; the order of a sum does on AtOnce.
type Gathering struct {
	// Adjacent says that neighbouring lanes mostly read neighbouring elements.
	Adjacent bool
	// AtOnce says that the processor has an instruction for eight elements of 32 bits that is faster than a load for each.
	AtOnce bool
}

// gatheredLanes is how many elements that instruction reads, and gatheredBytes their size together.
const gatheredLanes, gatheredBytes = 8, 32

func (g Gathering) String() string {
	switch {
	case g.Adjacent && g.AtOnce:
		return "adjacent gathered "
	case g.Adjacent:
		return "adjacent "
	case g.AtOnce:
		return "gathered "
	default:
		return ""
	}
}
