package autoschedule

import "testing"

// Profiles have what the default has where they leave it out.
func TestProfiles(t *testing.T) {
	others, name := ConstantsFor("vendor_id: GenuineIntel; cpu family: 6; flags: fpu avx2 avx512f")
	if name != "default" || others.FarBegin || others.GatherLong != 0 || others.FarRow != common.FarRow {
		t.Errorf("the profile of any processor is %q: %+v", name, others)
	}
	intel, name := ConstantsFor("vendor_id: GenuineIntel; cpu family: 6; flags: fpu avx2 avx512f avx512_fp16 amx_tile")
	if name != "genuineintel-avx512fp16" {
		t.Fatalf("the profile is %q", name)
	}
	if want := *others; intel.Loop != want.Loop || intel.Insert != want.Insert || intel.FarRow != want.FarRow {
		t.Errorf("constants that the profile leaves out are %+v, want those of the default", intel)
	}
	if !intel.FarBegin || intel.GatherLong == 0 {
		t.Errorf("the profile's own constants are missing: %+v", intel)
	}
	if _, name := ConstantsFor("vendor_id: AuthenticAMD; cpu family: 25; flags: fpu avx512f"); name != "authenticamd-25" {
		t.Errorf("the profile of Zen 4 is %q", name)
	}
}
