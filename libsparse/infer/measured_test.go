package infer

// measured is what real matrices have: rows, columns, entries, rows with entries, and the entries of products, sums and chains
// of them. They are from the SuiteSparse collection, SNAP, KONECT, Planetoid, Netlib and others; "permuted" is the matrix
// with its rows in another order.
var measured = []struct {
	name                       string
	rows, columns, nnz, filled int64
	fill                       map[string]int64
}{
	{"gnn/cora_adj", 2708, 2708, 10556, 2708, map[string]int64{"A A'": 94728, "A A": 94728, "A A A": 330614, "A + A'": 10556}},
	{"gnn/citeseer_adj", 3327, 3327, 9228, 3327, map[string]int64{"A A'": 45091, "A A": 45091, "A A A": 133451, "A + A'": 9228}},
	{"gnn/pubmed_adj", 19717, 19717, 88651, 19717, map[string]int64{"A A'": 1125829, "A A": 1125829, "A A A": 7357215, "A + A'": 88651}},
	{"gnn/amazon_photo_adj", 7650, 7650, 143663, 7452, map[string]int64{"A A'": 5733246, "A A": 1278452, "A A A": 4952185, "A + A'": 238163}},
	{"gnn/chameleon_directed_adj", 2277, 2277, 36101, 2277, map[string]int64{"A A'": 1228727, "A A": 154350, "A A A": 377806, "A + A'": 62792}},
	{"gnn/uai_adj", 3067, 3067, 56622, 3067, map[string]int64{"A A'": 2476911, "A A": 2476911, "A A A": 8127579, "A + A'": 56622}},
	{"gnn/cora_feat", 2708, 1433, 49216, 2708, map[string]int64{"A A'": 4440676, "A' A": 396212, "A + permuted": 95626}},
	{"gnn/amazon_photo_feat", 7650, 745, 1979909, 7650, map[string]int64{"A + permuted": 3204252}},
	{"gnn/acm_feat", 3025, 1870, 253300, 3025, map[string]int64{"A A'": 9150593, "A' A": 2528858, "A + permuted": 446293}},
	{"graphs/fb-Reed98", 962, 962, 37624, 962, map[string]int64{"A A'": 515240, "A A": 515240, "A A A": 873651, "A + A'": 37624}},
	{"graphs/fb-Amherst41", 2235, 2235, 181908, 2235, map[string]int64{"A A'": 2973139, "A A": 2973139, "A A A": 4828319, "A + A'": 181908}},
	{"graphs/airports", 456, 456, 71959, 456, map[string]int64{"A A'": 207458, "A A": 207528, "A A A": 207936, "A + A'": 75894}},
	{"graphs/airfoil1", 4253, 4253, 24578, 4253, map[string]int64{"A A'": 76583, "A A": 76583, "A A A": 146497, "A + A'": 24578}},
	{"graphs/minnesota", 2642, 2642, 6606, 2642, map[string]int64{"A A'": 13810, "A A": 13810, "A A A": 23932, "A + A'": 6606}},
	{"graphs/PGPgiantcompo", 10680, 10680, 48632, 10680, map[string]int64{"A A'": 421316, "A A": 421316, "A A A": 2241905, "A + A'": 48632}},
	{"graphs/ppi-homo-sapiens", 3890, 3890, 76584, 3890, map[string]int64{"A A'": 2737388, "A A": 2737388, "A A A": 11066752, "A + A'": 76584}},
	{"graphs/as-caida20071105", 26475, 26475, 106762, 26475, map[string]int64{"A A'": 26880947, "A A": 26880947, "A + A'": 106762}},
	{"graphs/soft-jdkdependency", 6434, 6434, 53892, 6369, map[string]int64{"A A'": 36408545, "A A": 250950, "A A A": 490705, "A + A'": 107316}},
	{"graphs/wikipedia-pos", 4777, 4777, 184812, 4777, map[string]int64{"A A'": 22026829, "A A": 22026829, "A + A'": 184812}},
	{"suitesparse/G22", 2000, 2000, 39980, 2000, map[string]int64{"A A'": 727462, "A A": 727462, "A A A": 3859767, "A + A'": 39980}},
	{"suitesparse/G40", 2000, 2000, 23532, 2000, map[string]int64{"A A'": 484434, "A A": 484434, "A A A": 2933394, "A + A'": 23532}},
	{"suitesparse/bcsstk16", 4884, 4884, 290378, 4884, map[string]int64{"A A'": 1038782, "A A": 1038782, "A A A": 2191340, "A + A'": 290378}},
	{"suitesparse/bwm2000", 2000, 2000, 7996, 2000, map[string]int64{"A A'": 15984, "A A": 15984, "A A A": 23964, "A + A'": 7996}},
	{"suitesparse/rajat19", 1157, 1157, 5399, 1157, map[string]int64{"A A'": 137701, "A A": 137616, "A A A": 444066, "A + A'": 5824}},
	{"suitesparse/well1850", 1850, 712, 8758, 1850, map[string]int64{"A A'": 523012, "A' A": 9126, "A + permuted": 17067}},
	{"suitesparse/dnn_images_1024_subset", 1200, 1024, 122713, 1200, map[string]int64{"A A'": 1439832, "A' A": 341465, "A + permuted": 210446}},
	{"suitesparse/arrow", 46500, 46500, 139498, 46500, map[string]int64{"A + A'": 139498}},
	{"suitesparse/Groebner_id2003_aug", 4967, 2456, 173670, 4967, map[string]int64{"A A'": 1388147, "A' A": 4485478, "A + permuted": 344520}},
	{"pruned/squeezenet_conv_final", 1000, 512, 102323, 1000, map[string]int64{"A A'": 999982, "A' A": 262144, "A + permuted": 183567}},
	{"pruned/squeezenet_fire9_conv3x3_2", 256, 576, 44173, 256, map[string]int64{"A A'": 65536, "A' A": 331768, "A + permuted": 74266}},
	{"pruned/squeezenet_fire6_conv1x1_2", 192, 48, 4602, 192, map[string]int64{"A A'": 36864, "A' A": 2304, "A + permuted": 6851}},
	{"lp/netlib_pilot", 1441, 3652, 43167, 1441, map[string]int64{"A A'": 124517, "A' A": 794498, "A + permuted": 85410}},
	{"lp/netlib_maros-r7", 3136, 9408, 144848, 3136, map[string]int64{"A A'": 664080, "A' A": 1230928, "A + permuted": 287897}},
	{"lp/netlib_wood1p", 244, 2594, 70215, 244, map[string]int64{"A A'": 36336, "A' A": 6728594, "A + permuted": 133371}},
	{"qp/mm_Q25FV47_P", 1571, 1571, 118552, 446, map[string]int64{"A A'": 153314, "A A": 153314, "A A A": 163046, "A + A'": 118552}},
	{"qp/mm_STCQP1_P", 4097, 4097, 49109, 4097, map[string]int64{"A A'": 806501, "A A": 806501, "A A A": 2232727, "A + A'": 49109}},
	{"bipartite/visium-gene-spot", 19465, 2898, 1069459, 11443, map[string]int64{"A + permuted": 2084529}},
}
