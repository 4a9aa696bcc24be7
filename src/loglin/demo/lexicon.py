"""Words and line patterns of the ingredient corpus, written for this project.

An entry that ends in * is held out: it occurs in the test part only. Lists are ordered from common to rare,
and the generator draws early entries more often. Words with two readings are placed on purpose: "ground" is
preparation before cumin and part of the name in "ground beef"; "cloves" are a unit of garlic and a spice.
"""

from dataclasses import dataclass

Weighted = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Entries:
    seen: tuple[str, ...]
    held_out: tuple[str, ...] = ()  # test part only


@dataclass(frozen=True)
class Kind:
    """Ingredients that are measured and prepared alike."""

    names: Entries
    share: int  # relative frequency
    counted: float  # how often the name itself is counted: "2 onions"
    units: tuple[str, ...]  # keys of UNITS
    before: Entries
    after: Entries


def _entries(text: str) -> Entries:
    parts = [part.strip() for part in text.replace("\n", " ").split(",") if part.strip()]
    held_out = tuple(part.rstrip("*") for part in parts if part.endswith("*"))
    return Entries(tuple(part for part in parts if not part.endswith("*")), held_out)


def _units(text: str) -> dict[str, tuple[str, ...]]:
    """Forms "singular plural abbreviation …", keyed by the singular."""
    return {forms[0]: tuple(forms) for part in text.split(",") if (forms := part.split())}


UNITS = _units("""cup cups c c. C, teaspoon teaspoons tsp tsp. t ts, tablespoon tablespoons tbsp tbsp.
    Tbsp T tbs, ounce ounces oz oz., pound pounds lb lbs lb. lbs., gram grams g gr gm, kilogram kilograms
    kg kilo kilos, milliliter milliliters ml mL, deciliter deciliters dl, liter liters l L litre, quart
    quarts qt qt. qts, pint pints pt pt., gallon gallons gal gal., pinch pinches, dash dashes, splash
    splashes, drop drops, drizzle drizzles, handful handfuls, clove cloves, head heads, bulb bulbs, bunch
    bunches bn, sprig sprigs, stalk stalks, rib ribs, leaf leaves, ear ears, knob knobs, piece pieces pcs
    pc, slice slices, strip strips, rasher rashers, stick sticks, pat pats, square squares sq, bar bars,
    sheet sheets, loaf loaves, fillet fillets, rack racks, ball balls, block blocks, wedge wedges, roll
    rolls, can cans, tin tins, jar jars, package packages pkg pkg. pkgs, packet packets pkt, bottle
    bottles, box boxes, bag bags, carton cartons ctn, container containers, envelope envelopes env, tub
    tubs, tube tubes, pouch pouches, scoop scoops, shot shots""")
HELD_OUT_UNITS = {"pouch", "tub", "rasher", "knob", "deciliter", "shot", "drizzle", "bulb"}
UNIT_MODIFIERS = _entries("heaping, scant, generous, level, rounded, good, overflowing*, slightly heaping*")
SIZES = _entries("large, medium, small, extra-large, jumbo, big, baby, medium-size, fist-sized*, oversized*")

_CUT = "chopped, diced, sliced, minced, finely chopped, thinly sliced, shredded, grated, peeled, roughly chopped"
_CUT_MORE = "coarsely chopped, cubed, finely diced, trimmed, halved, crushed, mashed, steamed, cooked, roasted"
_INTO = "cut into 1-inch pieces, cut into strips, cut in half, cut into wedges, cut into 1/4-inch slices"
SLICED = _entries(f"{_CUT}, {_CUT_MORE}, julienned*, spiralized*, coarsely grated*, slivered, blanched")
SLICED_AFTER = _entries(f"""{_CUT}, peeled and chopped, {_INTO}, seeded and minced, halved lengthwise,
    quartered, peeled and cut into chunks, cored and sliced, thinly sliced on the diagonal, peeled and
    deveined, stemmed, rinsed and patted dry, ends trimmed, cut into matchsticks, split lengthwise,
    pierced with a fork, left whole, peeled and quartered, grated on the large holes of a box grater, cut
    crosswise into half rounds, zested and juiced, juiced, sectioned*, scored*, cut into batons*, peeled
    and mandolined*, hulled and hollowed*""")
HERBED = _entries("chopped, finely chopped, minced, roughly torn, packed, loosely packed, torn, snipped, chiffonaded*")
HERBED_AFTER = _entries("""chopped, minced, leaves only, torn, stems removed, finely chopped, tied
    together, snipped, leaves picked, tough stems discarded, rinsed and dried, bruised*, cut into ribbons*""")
GROUND = _entries("ground, freshly ground, freshly grated, crushed, cracked, toasted, coarsely ground, pulverized*")
GROUND_AFTER = _entries("ground, crushed, toasted, freshly ground, toasted and ground, divided, bloomed in oil*")
SIFTED = _entries("sifted, packed, firmly packed, lightly packed, unsifted, lightly spooned*")
SIFTED_AFTER = _entries("""sifted, divided, packed, spooned and leveled, sifted twice, dissolved in 1/4
    cup warm water, mixed with 2 tablespoons cold water, aerated*""")
LIQUID = _entries("warm, cold, hot, boiling, lukewarm, chilled, simmering, ice-cold, tepid*, scalded*")
LIQUID_AFTER = _entries("divided, chilled, at room temperature, warmed, heated, well shaken, lightly beaten, decanted*")
SOFT = _entries(
    "softened, melted, cold, chilled, cubed, grated, shredded, crumbled, freshly grated, shaved, clarified*"
)
SOFT_AFTER = _entries("""softened, melted, at room temperature, cut into cubes, divided, melted and
    cooled, crumbled, cold and cut into small pieces, grated, shredded, thinly sliced, melted and still
    hot, foaming*""")
CARVED = _entries("""boneless skinless, boneless, lean, cooked, cubed, shredded, trimmed, bone-in,
    skinless, thawed, cooked and crumbled, thinly sliced, diced, skin-on, butterflied*, spatchcocked*""")
CARVED_AFTER = _entries("""cut into 1-inch cubes, trimmed, thawed, cut into bite-size pieces, thinly
    sliced, pounded thin, cooked and crumbled, trimmed of fat, skin removed, browned and drained, rinsed
    and patted dry, cut in half, peeled and deveined, shells removed, tied, brined*, frenched*, trussed*""")
DRAINED = _entries("drained, rinsed, drained and rinsed, mashed, undrained, sieved*")
DRAINED_AFTER = _entries("""drained, drained and rinsed, undrained, with juice, rinsed and drained,
    thawed, mashed, thawed and squeezed dry, with their liquid, patted dry, liquid reserved*, pulsed*""")
TOASTED = _entries("toasted, chopped, finely chopped, coarsely chopped, crushed, roasted, blanched, candied*")
TOASTED_AFTER = _entries("toasted, chopped, toasted and chopped, crushed, soaked overnight, halved, skins rubbed off*")
BOILED = _entries("cooked, uncooked, rinsed, soaked, crushed, warmed, stale, day-old, dry, parboiled*")
BOILED_AFTER = _entries("""cooked, cooked and drained, rinsed, broken in half, crushed, cooked al dente,
    torn into pieces, cooked according to package directions, soaked overnight, thawed, rinsed in cold
    water, fluffed*""")

KINDS = (
    Kind(_entries("""onion, carrot, potato, tomato, red bell pepper, zucchini, cucumber, jalapeño,
        shallot, sweet potato, green bell pepper, red onion, avocado, green onion, eggplant, leek, russet
        potato, scallion, beet, plum tomato, yellow squash, butternut squash, poblano pepper, serrano
        chile, turnip, parsnip, radish, Roma tomato, white onion, Yukon Gold potato, acorn squash, fennel
        bulb, portobello mushroom, artichoke, habanero pepper, tomatillo, spring onion, heirloom tomato,
        vidalia onion, kohlrabi*, celeriac*, rutabaga*, cubanelle pepper*, romanesco*, delicata squash*,
        cipollini onion*"""),
        22, 0.75, ("pound", "cup", "ounce", "gram", "kilogram", "bunch", "bag"), SLICED, SLICED_AFTER),
    Kind(_entries("""lemon, lime, orange, apple, banana, peach, pear, mango, Granny Smith apple,
        grapefruit, plum, pineapple, nectarine, apricot, fig, kiwi, ripe banana, cantaloupe, papaya,
        tangerine, blood orange, Meyer lemon, plantain, pomegranate, persimmon*, quince*, kumquat*,
        guava*, Bosc pear*"""),
        10, 0.8, ("cup", "pound", "slice", "wedge"), SLICED, SLICED_AFTER),
    Kind(_entries("egg, egg white, egg yolk, hard-boiled egg, whole egg, duck egg*, quail egg*"),
        5, 0.95, ("cup",),
        _entries("beaten, lightly beaten, separated, chilled, whisked*"),
        _entries("beaten, lightly beaten, separated, at room temperature, well beaten, whisked*, coddled*")),
    Kind(_entries("""spinach, mushrooms, broccoli, baby spinach, green beans, cherry tomatoes, frozen
        peas, kale, cabbage, cauliflower, corn kernels, blueberries, strawberries, asparagus, brussels
        sprouts, snow peas, arugula, raspberries, red cabbage, bean sprouts, cranberries, mixed greens,
        button mushrooms, cremini mushrooms, sugar snap peas, bok choy, napa cabbage, romaine lettuce,
        okra, grape tomatoes, frozen mixed vegetables, blackberries, cherries, pumpkin, watercress*,
        rapini*, chanterelles*, gooseberries*, endive*, edamame*"""),
        12, 0.0, ("cup", "pound", "ounce", "handful", "bag", "bunch", "package", "gram", "container"),
        SLICED, SLICED_AFTER),
    Kind(_entries("""parsley, fresh basil, cilantro, fresh parsley, fresh thyme, fresh mint, rosemary,
        dill, fresh cilantro, flat-leaf parsley, chives, fresh sage, tarragon, fresh flat-leaf parsley,
        Thai basil, fresh rosemary, oregano, marjoram, fresh dill, chervil*, lovage*, sorrel*, lemon
        verbena*"""),
        8, 0.0, ("tablespoon", "cup", "sprig", "teaspoon", "bunch", "handful", "leaf"), HERBED, HERBED_AFTER),
    Kind(_entries("""cumin, black pepper, cinnamon, coriander, nutmeg, cloves, allspice, ginger, turmeric,
        cardamom, white pepper, cumin seeds, mustard seeds, fennel seeds, coriander seeds, peppercorns,
        star anise, fenugreek*, mace*, sumac*, nigella seeds*"""),
        8, 0.0, ("teaspoon", "tablespoon", "pinch", "dash"), GROUND, GROUND_AFTER),
    Kind(_entries("""salt, kosher salt, vanilla extract, baking powder, baking soda, paprika, chili
        powder, garlic powder, dried oregano, sea salt, red pepper flakes, cayenne pepper, smoked paprika,
        dried thyme, onion powder, curry powder, cream of tartar, dry mustard, Italian seasoning, ground
        red pepper, dried basil, celery salt, active dry yeast, almond extract, garam masala, five-spice
        powder, whole cloves, poppy seeds, dried dill, table salt, poultry seasoning, lemon pepper,
        instant yeast, crushed red pepper, za'atar*, asafetida*, dried savory*, berbere*"""),
        14, 0.0, ("teaspoon", "tablespoon", "pinch", "dash", "packet", "envelope", "gram"),
        Entries(()), _entries("divided, sifted, heaped*")),
    Kind(_entries("""flour, sugar, all-purpose flour, brown sugar, cornstarch, powdered sugar, granulated
        sugar, white sugar, light brown sugar, cocoa powder, bread crumbs, rolled oats, cornmeal, bread
        flour, cake flour, dark brown sugar, whole wheat flour, confectioners' sugar, chocolate chips,
        shredded coconut, self-rising flour, almond flour, panko bread crumbs, graham cracker crumbs,
        mashed potato flakes, steel-cut oats, semolina, rye flour, cane sugar, semisweet chocolate chips,
        powdered milk, malted milk powder, tapioca starch, muscovado sugar*, spelt flour*, teff flour*,
        carob powder*"""),
        14, 0.0, ("cup", "tablespoon", "gram", "teaspoon", "ounce", "bag", "scoop", "deciliter"), SIFTED,
        SIFTED_AFTER),
    Kind(_entries("""water, olive oil, milk, vegetable oil, lemon juice, chicken broth, heavy cream, soy
        sauce, orange juice, extra-virgin olive oil, lime juice, buttermilk, whole milk, chicken stock,
        white wine, dry white wine, red wine, white vinegar, beef broth, honey, maple syrup, canola oil,
        red wine vinegar, vegetable broth, apple cider vinegar, half-and-half, half and half, coconut
        milk, balsamic vinegar, sesame oil, toasted sesame oil, rice vinegar, sherry, dry sherry,
        evaporated milk, light cream, skim milk, heavy whipping cream, cold brew coffee, light corn syrup,
        molasses, fish sauce, dark rum, apple juice, tomato juice, peanut oil, club soda, beer, brandy,
        espresso, mirin*, verjus*, grapeseed oil*, amaretto*, kefir*"""),
        18, 0.0, ("cup", "tablespoon", "teaspoon", "milliliter", "quart", "liter", "splash", "ounce",
        "pint", "bottle",
        "carton", "drop", "gallon", "drizzle", "shot"), LIQUID, LIQUID_AFTER),
    Kind(_entries("""butter, unsalted butter, cream cheese, cheddar cheese, Parmesan cheese, sour cream,
        mozzarella cheese, shortening, margarine, mayonnaise, plain yogurt, feta cheese, ricotta cheese,
        Greek yogurt, sharp cheddar cheese, goat cheese, Swiss cheese, Monterey Jack cheese, salted
        butter, blue cheese, cottage cheese, whipped cream, lard, Gruyère cheese, provolone, string
        cheese, vanilla ice cream, mascarpone*, halloumi*, manchego*, ghee*"""),
        14, 0.0, ("cup", "tablespoon", "ounce", "stick", "package", "pat", "gram", "slice", "block",
        "wedge", "container",
        "tub", "ball", "knob"), SOFT, SOFT_AFTER),
    Kind(_entries("""ground beef, chicken breasts, bacon, shrimp, chicken thighs, ground pork, Italian
        sausage, pork chops, ground turkey, salmon fillets, chicken, ham, pork tenderloin, beef stew meat,
        large shrimp, flank steak, short ribs, cod, chicken wings, smoked salmon, ground lamb, beef chuck
        roast, pork shoulder, ground round, leg of lamb, tilapia, sea scallops, spare ribs, turkey breast,
        sirloin steak, chicken strips, smoked sausage, lump crabmeat, mussels, pancetta, prosciutto, cold
        cuts, firm tofu, chorizo, venison*, monkfish*, oxtail*, andouille*, halibut*, duck legs*"""),
        14, 0.1, ("pound", "ounce", "slice", "package", "kilogram", "gram", "piece", "strip", "rasher"),
        CARVED, CARVED_AFTER),
    Kind(_entries("""black beans, diced tomatoes, tomato sauce, tomato paste, crushed tomatoes, kidney
        beans, chickpeas, cream of mushroom soup, green chiles, whole kernel corn, cream of chicken soup,
        sweetened condensed milk, tuna, crushed pineapple, pinto beans, chopped green chiles, sliced black
        olives, coconut cream, pumpkin puree, salsa, stewed tomatoes, roasted red peppers, refried beans,
        artichoke hearts, water chestnuts, whole peeled tomatoes, cannellini beans, hearts of palm,
        chopped clams, anchovies, capers, sliced water chestnuts, cherry pie filling, jackfruit*,
        lychees*, gigante beans*, smoked oysters*"""),
        13, 0.0, ("can", "can", "can", "jar", "cup", "tin", "package", "tube", "pouch"), DRAINED,
        DRAINED_AFTER),
    Kind(_entries("""walnuts, pecans, almonds, raisins, slivered almonds, peanuts, sliced almonds, sesame
        seeds, pine nuts, cashews, dried cranberries, sunflower seeds, hazelnuts, pistachios, dates,
        golden raisins, macadamia nuts, gum drops, dried apricots, chopped dates, chia seeds, currants*,
        pepitas*, marcona almonds*"""),
        7, 0.0, ("cup", "tablespoon", "ounce", "handful", "bag", "gram"), TOASTED, TOASTED_AFTER),
    Kind(_entries("""rice, spaghetti, pasta, white rice, brown rice, elbow macaroni, egg noodles, quinoa,
        penne, couscous, basmati rice, long-grain rice, lentils, dry lentils, split peas, lasagna noodles,
        fettuccine, pearl barley, croutons, rice noodles, shredded wheat cereal, dry pinto beans, orzo,
        bulgur, wild rice, Arborio rice, linguine, farro*, freekeh*, bucatini*, soba*"""),
        9, 0.0, ("cup", "pound", "ounce", "package", "box", "gram", "bag"), BOILED, BOILED_AFTER),
    Kind(_entries("""flour tortilla, corn tortilla, hamburger bun, dinner roll, egg roll wrapper, pie
        crust, tea bag, bay leaf, cinnamon stick, vanilla bean, chicken bouillon cube, pita bread, graham
        cracker, peanut butter cup, chocolate bar, English muffin, puff pastry sheet, pound cake, wonton
        wrapper, ladyfinger, chocolate sandwich cookie, ice cube, bagel, anchovy fillet, hot dog bun,
        brioche bun*, naan*, nori sheet*, rice paper wrapper*"""),
        9, 0.85, ("package", "box", "bag", "sheet"), BOILED, BOILED_AFTER),
    Kind(_entries("""Dijon mustard, ketchup, Worcestershire sauce, mustard, hot sauce, peanut butter,
        barbecue sauce, horseradish, apricot jam, yellow mustard, tahini, chili sauce, hoisin sauce, sweet
        pickle relish, ranch dressing, pesto, miso paste, whole-grain mustard, oyster sauce, sweet chili
        sauce, strawberry preserves, dry ranch dressing mix, dry onion soup mix, light mayonnaise,
        harissa*, gochujang*, aioli*, chimichurri*"""),
        10, 0.0, ("tablespoon", "teaspoon", "cup", "jar", "bottle", "dash", "ounce", "packet", "envelope"),
        Entries(()), _entries("divided, warmed, at room temperature, strained, whisked smooth*")),
)  # fmt: skip

# Ingredients that come in pieces of their own: "3 cloves garlic" and "3 garlic cloves".
PIECES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("garlic", ("clove", "head", "bulb")), ("celery", ("rib", "stalk", "bunch")), ("corn", ("ear",)),
    ("ginger", ("piece", "slice", "knob")), ("iceberg lettuce", ("head", "leaf")),
    ("bread", ("slice", "loaf")),
    ("bacon", ("slice", "strip", "rasher")), ("butter", ("stick", "pat", "knob")), ("thyme", ("sprig",)),
    ("rosemary", ("sprig",)), ("lemongrass", ("stalk",)), ("rhubarb", ("stalk", "rib")),
    ("phyllo", ("sheet",)),
    ("basil", ("leaf", "sprig", "bunch")), ("unsweetened chocolate", ("square", "bar")),
    ("anchovy", ("fillet",)),
    ("cinnamon", ("stick",)), ("pizza dough", ("ball",)), ("cauliflower", ("head",)), ("sage", ("leaf",)),
    ("lemon", ("wedge", "slice")), ("sausage", ("roll", "piece")), ("salmon", ("fillet", "piece")),
    ("baby back ribs", ("rack",)),
)  # fmt: skip

# Brand-like words, invented; they precede a name and belong to it.
BRANDS = _entries("""Golden Mill, Harrow's, Sunny Acre, Bellwether, Old Quay, Marisol, Blue Heron,
    Pemberly, Nonna Lucia, Tall Pine, Kestrel*, Winterbourne*, Casa Olmo*""")

COMMENTS = _entries("""to taste, for serving, for garnish, optional, plus more for garnish, or to taste,
    or more to taste, plus more to taste, for frying, for dusting, plus more for dusting, as needed, or as
    needed, plus extra for brushing, if desired, for greasing the pan, plus more as needed, to serve, or
    more if needed, for the topping, your choice, such as Golden Mill, you can also use margarine, you can
    leave it out, any kind will do, for drizzling, not packed, preferably organic, for decoration, at
    least 2 days old, if you like it hot, a little more if dry, see note, or so, depending on size, to
    cover, for sprinkling, enough to cover the bottom of the pan, homemade or store-bought, half for the
    dough and half for the filling, or one large can, use the good stuff, from about 3 lemons, not
    low-fat, for rolling, to thin, adjust to your liking*, omit for vegetarians*, whichever you prefer*,
    reserved from step two*, for coating the skillet*, substitute coconut sugar*""")
REMARKS = _entries("""optional, about {number} {volume}, about {number} {weight}, {number} {volume}, see
    note, about {number} {sizes}, not drained, {number} {weight} total, I use more, any color, the smaller
    the better, room temperature is fine, if using, or substitute {other}, I like {other}, if frozen thaw
    first, white parts only, from {number} {other}, roughly {number} {volume}*, storebought works*""")

# How a line ends; labels before the slots, O for none.
TAILS: Weighted = (
    (42, ""),
    (17, "O , | PREP {after}"),
    (5, "PREP {after}"),
    (8, "O , | COMMENT {comment}"),
    (4, "COMMENT {comment}"),
    (4, "O , | PREP {after} | O , | COMMENT {comment}"),
    (5, "O ( | COMMENT {remark} | O )"),
    (2, "O ( | PREP {after} | O )"),
    (3, "O ( | COMMENT {comment} | O )"),
    (3, "O ( | COMMENT {remark} | O ) | O , | PREP {after}"),
    (1, "O , | PREP {after} | O ( | COMMENT {remark} | O )"),
    (1, "O - | PREP {after}"),
    (1, "O *"),
)
HELD_OUT_TAILS: Weighted = (
    (1, "O ; | COMMENT {comment}"),
    (1, "O - | COMMENT {comment}"),
    (1, "O [ | PREP {after} | O ]"),
)

# How a line begins, by how its kind is measured; weights first.
MEASURED: Weighted = (
    (50, "QTY {qty} | UNIT {unit} | NAME {name}"),
    (22, "QTY {qty} | UNIT {unit} | PREP {before} | NAME {name}"),
    (7, "QTY {qty} | UNIT {unit} | O of | NAME {name}"),
    (4, "QTY {qty} | UNIT {modifier} {unit} | NAME {name}"),
    (3, "QTY {qty} | UNIT {unit} | O plus | QTY {qty} | UNIT {unit} | NAME {name}"),
    (2, "QTY {qty} | UNIT {unit} | O ( | QTY {qty} | UNIT {unit} | O ) | NAME {name}"),
    (3, "QTY {qty} | UNIT {unit} | NAME {name} or {name}"),
    (2, "QTY {qty} | UNIT {unit} | NAME {brand} {name}"),
    (1, "QTY {qty} | UNIT {unit} | PREP {before} | NAME {name} or {name}"),
    (1, "QTY {qty} | UNIT {unit} | O each | NAME {name} and {name}"),
    (2, "NAME {name}"),
    (1, "PREP {before} | NAME {name}"),
)
COUNTED: Weighted = (
    (40, "QTY {qty} | NAME {names}"),
    (24, "QTY {qty} | UNIT {size} | NAME {names}"),
    (12, "QTY {qty} | PREP {before} | NAME {names}"),
    (5, "QTY {qty} | UNIT {size} | PREP {before} | NAME {names}"),
    (3, "QTY {qty} | O ( | QTY {hyphenated} | O ) | NAME {names}"),
    (2, "QTY half | O of | QTY a | UNIT {size} | NAME {name}"),
    (3, "QTY half a | NAME {name}"),
    (2, "QTY {qty} | NAME {names} or {names}"),
)
CONTAINED: Weighted = (
    (5, "QTY {qty} | O ( | QTY {number} | UNIT {weight} | O ) | UNIT {holder} | NAME {name}"),
    (3, "QTY {qty} | UNIT {holder} | O ( | QTY {number} | UNIT {weight} | O ) | NAME {name}"),
    (2, "QTY {qty} | QTY {hyphenated} | UNIT {holder} | NAME {name}"),
    (1, "QTY {qty} | UNIT {holder} | NAME {brand} {name} | O ( | QTY {number} | UNIT {weight} | O )"),
)
PIECED: Weighted = (
    (6, "QTY {qty} | UNIT {piece} | NAME {pieced}"),
    (3, "QTY {qty} | UNIT {piece} | O of | NAME {pieced}"),
    (5, "QTY {qty} | NAME {pieced} | UNIT {piece}"),
    (2, "QTY {qty} | UNIT {size} {piece} | NAME {pieced}"),
    (2, "QTY {qty} | UNIT {size} | NAME {pieced} | UNIT {piece}"),
    (1, "QTY {qty} | PREP {before} | NAME {pieced} | UNIT {piece}"),
)
LOOSE: Weighted = (
    (8, "NAME salt and pepper | COMMENT to taste"),
    (5, "NAME salt | COMMENT to taste"),
    (4, "NAME salt and | PREP freshly ground | NAME black pepper"),
    (5, "NAME {name} | COMMENT {comment}"),
    (5, "NAME {name} | O , | COMMENT {comment}"),
    (7, "PREP juice of | QTY {qty} | NAME {citrus}"),
    (3, "PREP zest of | QTY {qty} | UNIT {size} | NAME {citrus}"),
    (4, "NAME cooking spray"),
    (2, "PREP grated zest and juice of | QTY {qty} | NAME {citrus}"),
    (2, "QTY a few | UNIT {spoons} | O of | NAME {name}"),
    (2, "QTY a | UNIT pinch | O each of | NAME {name} and {name}"),
    (2, "NAME {name} | O , | NAME {name} | O , and | NAME {name} | COMMENT for serving"),
    (1, "COMMENT optional | O : | NAME {name}"),
    (2, "COMMENT for the topping | O : | QTY {qty} | UNIT {spoons} | NAME {name}"),
    (1, "QTY {qty} | UNIT inch | NAME cinnamon stick"),
    (2, "QTY {qty} | UNIT inch piece | NAME ginger"),
)
HELD_OUT_LINES: Weighted = (
    (3, "NAME {name} | O : | QTY {qty} | UNIT {unit}"),
    (2, "QTY {number} x {number} | UNIT {weight} {holder} | NAME {name}"),
    (2, "PREP juice of | QTY half a | NAME {citrus}"),
    (2, "NAME {name} | O - | QTY {qty} | UNIT {unit}"),
    (1, "PREP zest from | QTY {qty} | NAME {citrus}"),
)
